#include "load/loops.hpp"

#include <utility>

namespace load {

namespace {

constexpr std::chrono::milliseconds tick_interval{1};
constexpr std::size_t opening_at_once = 64;

clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

generator::generator(boost::asio::io_context& context, const settings& how, tally& counts)
    : context_(context), how_(how), counts_(counts), timer_(context) {}

void generator::start() {
    began_ = clock::now();
    if (how_.rate > 0) return tick();
    for (std::size_t i = 0; i < how_.connections; ++i) issue(*free_client(), began_);
}

void generator::tick() {
    send_due();
    if (over_) return;
    timer_.expires_after(tick_interval);
    timer_.async_wait([this](const boost::system::error_code& ec) {
        if (!ec) tick();
    });
}

void generator::send_due() {
    const std::chrono::duration<double> passed = clock::now() - began_;
    over_ = passed >= how_.seconds;
    // The first is due at once.
    const auto due = std::min(static_cast<std::uint64_t>(passed.count() * how_.rate) + 1,
                              static_cast<std::uint64_t>(how_.seconds.count() * how_.rate));
    for (; due_ < due; ++due_) {
        client* const by = free_client();
        if (by == nullptr)
            ++counts_.unsent;
        else
            issue(*by, began_ + to_duration(static_cast<double>(due_) / how_.rate));
    }
}

client* generator::free_client() {
    if (!free_.empty()) {
        client* const last = free_.back();
        free_.pop_back();
        return last;
    }
    if (clients_.size() >= how_.connections) return nullptr;
    clients_.push_back(std::make_unique<client>(context_, how_.server));
    return clients_.back().get();
}

void generator::issue(client& by, clock::time_point due) {
    ++counts_.sent;
    ++outstanding_;
    const std::string& request = how_.requests[next_request_++ % how_.requests.size()];
    by.ask(request, [this, &by, due](const answer& got) { answered(by, due, got); });
}

void generator::answered(client& by, clock::time_point due, const answer& got) {
    --outstanding_;
    count(due, got);
    if (how_.rate > 0) return free_.push_back(&by);
    const clock::time_point now = clock::now();
    over_ = over_ || now - began_ >= how_.seconds;
    if (!over_) issue(by, now);
}

void generator::count(clock::time_point due, const answer& got) {
    if (got.status == 0) {
        ++counts_.broken;
        return;
    }
    ++counts_.answered[got.status];
    (got.status == 200 ? counts_.good : counts_.refused).add(clock::now() - due);
    if (got.status == 200 && !how_.expected.empty() && got.body != how_.expected) ++counts_.wrong;
    if ((got.status == 429 || got.status == 503) && !got.retry_after) ++counts_.without_retry_after;
}

prober::prober(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& server, std::string request,
               double hz, tally& counts)
    : client_(context, server), request_(std::move(request)), interval_(1 / hz), counts_(counts), timer_(context) {}

void prober::start() {
    if (stopped_) return;
    const clock::time_point began = clock::now();
    client_.ask(request_, [this, began](const answer& got) {
        if (got.status == 200)
            counts_.probes.add(clock::now() - began);
        else
            ++counts_.probes_failed;
        wait();
    });
}

void prober::wait() {
    timer_.expires_after(to_duration(interval_.count()));
    timer_.async_wait([this](const boost::system::error_code& ec) {
        if (!ec) start();
    });
}

idlers::idlers(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& server, std::size_t count,
               std::string request)
    : request_(std::move(request)) {
    for (std::size_t i = 0; i < count; ++i) clients_.push_back(std::make_unique<client>(context, server));
}

void idlers::start(std::function<void()> ready) {
    ready_ = std::move(ready);
    if (clients_.empty()) return ready_();
    for (std::size_t i = 0; i < opening_at_once; ++i) open_next();
}

void idlers::open_next() {
    if (opened_ == clients_.size()) return;
    clients_[opened_++]->ask(request_, [this](const answer& got) {
        if (got.status != 200) ++failed_;
        if (++answered_ == clients_.size()) return ready_();
        open_next();
    });
}

}  // namespace load
