#pragma once

#include <asio_infer/infer.hpp>
#include <asio_infer/model_spec.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/executor.hpp"
#include "core/model_stats.hpp"

namespace asio_infer {

/// One version of a model that takes calls. Thread-safe. Lives as long as a call refers to it; its last owner may be
/// any thread.
class served_model {
public:
    virtual ~served_model() = default;
    const model_spec& spec() const noexcept { return spec_; }
    model_stats& stats() noexcept { return *stats_; }
    const model_stats& stats() const noexcept { return *stats_; }
    /// Takes calls? False once it is being retired or the server stops.
    virtual bool ready() const noexcept = 0;
    /// Queues a bound call. The call comes back through call->receiver exactly once, whatever happens, perhaps before
    /// this returns (a refusal). `home`: the network thread that calls, whose turn gathers a batch; null from other
    /// threads. `caller_waits`: the calling thread does nothing else meanwhile, so a short run may happen on it.
    virtual void submit(infer_call_ptr call, task_executor* home, bool caller_waits) noexcept = 0;
    /// Delivers the caller's call, if it is here, as `cancelled`: out of the queue or, at once, out of its run. A run
    /// that nobody waits for any more is stopped.
    virtual void cancel(const call_receiver& caller) noexcept = 0;
    /// Takes calls (again).
    virtual void open() noexcept = 0;
    /// From now on calls are answered with `why`, those that wait included. Runs that are under way end normally, or
    /// as soon as the runtime can be stopped if `interrupt`.
    virtual void close(const error& why, bool interrupt) noexcept = 0;

protected:
    explicit served_model(std::shared_ptr<model_stats> stats = std::make_shared<model_stats>())
        : stats_(std::move(stats)) {}

    model_spec spec_;
    const std::shared_ptr<model_stats> stats_;  ///< shared with what it replaces: counters never go back
};

using model_ptr = std::shared_ptr<served_model>;

/// Who wants to know when the server becomes ready, or stops being it.
class readiness_watcher : public boost::intrusive::list_base_hook<> {
public:
    /// On any thread, inside a call of the directory: it may only post.
    virtual void readiness_changed() noexcept = 0;

protected:
    ~readiness_watcher() = default;
};

/// How requests find models. Thread-safe, quick.
class model_directory {
public:
    virtual ~model_directory() = default;
    /// The version asked for, or the highest one. not_found names what is missing.
    virtual result<model_ptr> find(std::string_view name, std::optional<std::int64_t> version) const = 0;
    /// Every version of every model, by name and then version.
    virtual std::vector<model_ptr> all() const = 0;
    /// All versions of one name, ascending; empty if there is none.
    virtual std::vector<model_ptr> versions(std::string_view name) const = 0;
    /// Whether the server as a whole is ready: started, not draining.
    virtual bool ready() const noexcept = 0;
    /// Whether the server stops: what was received before is still answered, no inference is begun.
    virtual bool stopping() const noexcept = 0;
    /// Tells `w` of changes of ready() until it is removed.
    virtual void add_watcher(readiness_watcher& w) const noexcept = 0;
    virtual void remove_watcher(readiness_watcher& w) const noexcept = 0;
};

}  // namespace asio_infer
