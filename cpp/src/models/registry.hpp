#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "core/served_model.hpp"

namespace asio_infer {

/// The models in service by name and version. Lookups share a lock; a change swaps one entry, so a request sees the old
/// model or the new one. A model that is taken out lives on until its last call has ended.
class registry final : public model_directory {
public:
    result<model_ptr> find(std::string_view name, std::optional<std::int64_t> version) const override;
    std::vector<model_ptr> all() const override;
    std::vector<model_ptr> versions(std::string_view name) const override;
    bool ready() const noexcept override { return ready_.load(std::memory_order_acquire); }
    bool stopping() const noexcept override { return stopping_.load(std::memory_order_acquire); }

    void add_watcher(readiness_watcher& w) const noexcept override;
    void remove_watcher(readiness_watcher& w) const noexcept override;

    void set_ready(bool ready) noexcept;
    void set_stopping(bool stopping) noexcept { stopping_.store(stopping, std::memory_order_release); }
    /// What is counted under this name and version. It outlives the models that are registered under them, so that
    /// counters go on where they were; the counts of names that are long gone are forgotten.
    std::shared_ptr<model_stats> counters(const std::string& name, std::int64_t version);
    bool contains(const std::string& name, std::int64_t version) const;
    /// Puts the model in under its spec's name and version. Returns the one that it replaced, if any. already_exists
    /// if there is one and `replace` is false.
    result<model_ptr> add(model_ptr model, bool replace);
    /// Takes one version out or, without one, all. not_found if there is none.
    result<std::vector<model_ptr>> remove(const std::string& name, std::optional<std::int64_t> version);

private:
    using version_map = std::map<std::int64_t, model_ptr>;

    using counter_map = std::map<std::pair<std::string, std::int64_t>, std::shared_ptr<model_stats>>;
    static constexpr std::size_t kept_counters = 1'024;  ///< of models that are not registered; about 4 KiB each

    mutable std::shared_mutex mutex_;  ///< guards the two below
    std::map<std::string, version_map, std::less<>> models_;
    counter_map counters_;
    std::atomic<bool> ready_{false};
    std::atomic<bool> stopping_{false};
    mutable std::mutex watchers_mutex_;  ///< guards the list below
    mutable boost::intrusive::list<readiness_watcher> watchers_;
};

/// Whether a model may have this name: 1 to 256 bytes of UTF-8 without '/', '\', control characters, and not "." or
/// ".."; otherwise invalid_request that says what is wrong. Pure.
result<void> check_model_name(std::string_view name);

}  // namespace asio_infer
