#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

namespace asio_infer::testing {

/// Runs function(0) .. function(count - 1), each on a thread of its own, all starting at once; returns when all have
/// ended.
template <class Function>
void run_together(std::size_t count, Function function) {
    std::barrier start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            function(i);
        });
    for (std::thread& each : threads) each.join();
}

}  // namespace asio_infer::testing
