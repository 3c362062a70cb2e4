#include "models/registry.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/escape.hpp"

namespace asio_infer {

namespace {

error no_model(std::string_view name) { return {errc::not_found, "unknown model '" + std::string(name) + "'"}; }

error no_version(std::string_view name, std::int64_t version) {
    return {errc::not_found, "model '" + std::string(name) + "' has no version " + std::to_string(version)};
}

bool is_forbidden(unsigned char c) noexcept { return c == '/' || c == '\\' || c < 0x20 || c == 0x7f; }

/// U+0080 to U+009F, in UTF-8.
bool has_c1_control(std::string_view text) noexcept {
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
        if (text[i] == '\xc2' && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
    return false;
}

}  // namespace

result<model_ptr> registry::find(std::string_view name, std::optional<std::int64_t> version) const {
    const std::shared_lock lock(mutex_);
    const auto found = models_.find(name);
    if (found == models_.end()) return no_model(name);
    if (!version) return found->second.rbegin()->second;
    const auto one = found->second.find(*version);
    if (one == found->second.end()) return no_version(name, *version);
    return one->second;
}

std::vector<model_ptr> registry::all() const {
    const std::shared_lock lock(mutex_);
    std::vector<model_ptr> list;
    for (const auto& [name, versions] : models_)
        for (const auto& [version, model] : versions) list.push_back(model);
    return list;
}

std::vector<model_ptr> registry::versions(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    std::vector<model_ptr> list;
    if (const auto found = models_.find(name); found != models_.end())
        for (const auto& [version, model] : found->second) list.push_back(model);
    return list;
}

bool registry::contains(const std::string& name, std::int64_t version) const {
    const std::shared_lock lock(mutex_);
    const auto found = models_.find(name);
    return found != models_.end() && found->second.contains(version);
}

std::shared_ptr<model_stats> registry::counters(const std::string& name, std::int64_t version) {
    const std::unique_lock lock(mutex_);
    std::shared_ptr<model_stats>& found = counters_[{name, version}];
    if (found) return found;
    found = std::make_shared<model_stats>();
    const std::shared_ptr<model_stats> made = found;
    const auto unused = [](const auto& entry) { return entry.second.use_count() == 1; };
    if (std::count_if(counters_.begin(), counters_.end(), unused) > static_cast<std::ptrdiff_t>(kept_counters))
        std::erase_if(counters_, unused);
    return made;
}

result<model_ptr> registry::add(model_ptr model, bool replace) {
    const std::string& name = model->spec().name;
    const std::int64_t version = model->spec().version;
    const std::unique_lock lock(mutex_);
    version_map& versions = models_[name];
    const auto [at, fresh] = versions.try_emplace(version, model);
    if (fresh) return model_ptr{};
    if (!replace)
        return error{errc::already_exists, "model '" + name + "' version " + std::to_string(version) +
                                               " is registered already; replace=True swaps it"};
    return std::exchange(at->second, std::move(model));
}

result<std::vector<model_ptr>> registry::remove(const std::string& name, std::optional<std::int64_t> version) {
    std::vector<model_ptr> removed;
    const std::unique_lock lock(mutex_);
    const auto found = models_.find(name);
    if (found == models_.end()) return no_model(name);
    version_map& versions = found->second;
    if (version && !versions.contains(*version)) return no_version(name, *version);
    for (auto it = versions.begin(); it != versions.end();) {
        if (version && it->first != *version) {
            ++it;
            continue;
        }
        removed.push_back(std::move(it->second));
        it = versions.erase(it);
    }
    if (versions.empty()) models_.erase(found);
    return removed;
}

void registry::add_watcher(readiness_watcher& w) const noexcept {
    const std::lock_guard lock(watchers_mutex_);
    watchers_.push_back(w);
}

void registry::remove_watcher(readiness_watcher& w) const noexcept {
    const std::lock_guard lock(watchers_mutex_);
    if (w.is_linked()) watchers_.erase(watchers_.iterator_to(w));
}

void registry::set_ready(bool ready) noexcept {
    if (ready_.exchange(ready, std::memory_order_acq_rel) == ready) return;
    const std::lock_guard lock(watchers_mutex_);
    for (readiness_watcher& each : watchers_) each.readiness_changed();
}

result<void> check_model_name(std::string_view name) {
    const auto bad = [&](std::string_view why) {
        return error{errc::invalid_request, "a model's name " + std::string(why)};
    };
    if (name.empty() || name.size() > 256)
        return bad("has 1 to 256 bytes; this one has " + std::to_string(name.size()));
    if (name == "." || name == "..") return bad("cannot be '.' or '..'");
    if (!is_utf8(name)) return bad("is UTF-8; this one is not");
    if (std::any_of(name.begin(), name.end(), is_forbidden) || has_c1_control(name))
        return bad("has no '/', '\\' or control characters");
    return {};
}

}  // namespace asio_infer
