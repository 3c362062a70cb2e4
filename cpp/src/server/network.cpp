#include "server/network.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace asio_infer {

network::network(unsigned threads, const limits& bounds, server_stats& stats, log_sink& log)
    : members_([&] {
          std::vector<std::unique_ptr<member>> made;
          for (unsigned i = 0; i < threads; ++i) made.push_back(std::make_unique<member>(stats));
          return made;
      }()),
      acceptance_(targets(), bounds, stats, log),
      listener_(members_.front()->thread.context()),
      unix_listener_(members_.front()->thread.context()) {}

std::vector<acceptance::target> network::targets() {
    std::vector<acceptance::target> list;
    for (const auto& each : members_) {
        member* const m = each.get();
        list.push_back({&m->thread.context(), [m](connection::socket_type socket, session_factory& sessions) {
                            boost::asio::post(m->thread.context(), [m, &sessions, moved = std::move(socket)]() mutable {
                                m->group.add(std::move(moved), sessions);
                            });
                        }});
    }
    return list;
}

network::~network() {
    for (const auto& each : members_) each->thread.context().stop();
    for (const auto& each : members_) each->thread.join();
    listener_.close();
    unix_listener_.close();
}

void network::start(session_factory& sessions, session_factory& local) {
    for (const auto& each : members_) each->thread.start();
    boost::asio::post(members_.front()->thread.context(), [this, &sessions, &local] {
        listener_.start(acceptance_, sessions);
        unix_listener_.start(acceptance_, local);
    });
}

void network::retire() {
    // Posted from the thread that accepts, so that every connection has reached its group before the group retires.
    boost::asio::post(members_.front()->thread.context(), [this] {
        listener_.close();
        unix_listener_.close();
        for (const auto& each : members_)
            boost::asio::post(each->thread.context(),
                              [this, m = each.get()] { m->group.retire([this] { count(quiet_); }); });
    });
}

void network::drain() {
    // By the same way as retire(), which it must not overtake.
    boost::asio::post(members_.front()->thread.context(), [this] {
        for (const auto& each : members_)
            boost::asio::post(each->thread.context(),
                              [this, m = each.get()] { m->group.drain([this] { count(drained_); }); });
    });
}

void network::count(std::size_t& counter) {
    const std::lock_guard lock(mutex_);
    ++counter;
    changed_.notify_all();
}

bool network::wait_for_all(const std::size_t& counter, time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return counter == members_.size(); });
}

bool network::wait_quiet(time_point until) { return wait_for_all(quiet_, until); }

bool network::wait_drained(time_point until) { return wait_for_all(drained_, until); }

void network::abort_connections() {
    for (const auto& each : members_)
        boost::asio::post(each->thread.context(), [m = each.get()] { m->group.abort_all(); });
}

}  // namespace asio_infer
