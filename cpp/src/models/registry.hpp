#pragma once

#include <atomic>
#include <map>
#include <shared_mutex>
#include <string>

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

    void set_ready(bool ready) noexcept { ready_.store(ready, std::memory_order_release); }
    bool contains(const std::string& name, std::int64_t version) const;
    /// Puts the model in under its spec's name and version. Returns the one that it replaced, if any. already_exists
    /// if there is one and `replace` is false.
    result<model_ptr> add(model_ptr model, bool replace);
    /// Takes one version out or, without one, all. not_found if there is none.
    result<std::vector<model_ptr>> remove(const std::string& name, std::optional<std::int64_t> version);

private:
    using version_map = std::map<std::int64_t, model_ptr>;

    mutable std::shared_mutex mutex_;  ///< guards models_
    std::map<std::string, version_map, std::less<>> models_;
    std::atomic<bool> ready_{false};
};

/// Whether a model may have this name: 1 to 256 bytes of UTF-8 without '/', '\', control characters, and not "." or
/// ".."; otherwise invalid_request that says what is wrong. Pure.
result<void> check_model_name(std::string_view name);

}  // namespace asio_infer
