#pragma once

#include <asio_infer/server.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/served_model.hpp"

namespace asio_infer::testing {

struct quiet_log final : log_sink {
    bool enabled(log_level) const noexcept override { return false; }
    void write(log_level, std::string_view, std::initializer_list<log_field>) noexcept override {}
};

/// Waits for something that other threads bring about; false if it takes longer than any machine should.
template <class Condition>
bool eventually(Condition condition) {
    const time_point until = clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (clock::now() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

/// Calls that come back, and a way to wait for them.
class waiting_receiver final : public call_receiver {
public:
    void deliver(infer_call_ptr call) noexcept override {
        const std::lock_guard lock(mutex_);
        done_.push_back(std::move(call));
        changed_.notify_all();
    }
    /// The next call that has come back; null if none comes in time.
    infer_call_ptr next() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !done_.empty(); })) return nullptr;
        infer_call_ptr first = std::move(done_.front());
        done_.erase(done_.begin());
        return first;
    }
    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return done_.size();
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<infer_call_ptr> done_;
};

/// An identity model that echoes FP32 tensors of two dims.
inline model_options echo_model(std::string name, string_map backend_options = {}) {
    model_options o;
    o.name = std::move(name);
    o.backend = "identity";
    o.backend_options = std::move(backend_options);
    return o;
}

/// A call of such a model with one row.
inline infer_call_ptr echo_call(call_receiver& receiver, std::vector<float> row) {
    auto call = std::make_unique<infer_call>();
    unique_buffer bytes(row.size() * sizeof(float));
    std::memcpy(bytes.data(), row.data(), bytes.size());
    call->request.inputs.push_back(
        {"INPUT0", {dtype::fp32, {1, static_cast<std::int64_t>(row.size())}, std::move(bytes).share()}, {}});
    call->receiver = &receiver;
    call->arrived = clock::now();
    return call;
}

/// The echo, or nothing if the call failed.
inline std::vector<float> echo_of(const infer_call& call) {
    if (!call.outcome) return {};
    const buffer& bytes = call.outcome->at(0).data;
    std::vector<float> row(bytes.size() / sizeof(float));
    std::memcpy(row.data(), bytes.data(), bytes.size());
    return row;
}

inline std::string infer_body(const std::string& numbers, std::size_t count) {
    return R"({"inputs":[{"name":"INPUT0","shape":[1,)" + std::to_string(count) + R"(],"datatype":"FP32","data":[)" +
           numbers + "]}]}";
}

/// A server on a free port of this machine.
struct server_fixture {
    explicit server_fixture(server_options o = {}) : running(local(std::move(o)), std::make_shared<quiet_log>()) {}

    static server_options local(server_options o) {
        o.port = 0;
        return o;
    }
    std::int64_t runs(const std::string& model) const {
        return (*running.find(model, std::nullopt))->stats().running.load();
    }
    std::int64_t queued(const std::string& model) const {
        return (*running.find(model, std::nullopt))->stats().pending.load();
    }
    /// A value of GET /metrics; -1 if there is none of that name.
    double metric(const std::string& name) const {
        const std::string text = "\n" + running.metrics_text();
        const std::size_t at = text.find("\n" + name + " ");
        return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
    }

    server running;
};

}  // namespace asio_infer::testing
