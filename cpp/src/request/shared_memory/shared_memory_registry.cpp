#include "request/shared_memory/shared_memory_registry.hpp"

#include <limits>
#include <utility>

#include "request/route_arguments.hpp"

namespace asio_infer {

namespace {

constexpr std::size_t longest_key = 255;

error refuse(const char* what) { return {errc::invalid_request, what}; }

bool overflows(std::uint64_t offset, std::uint64_t size) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return offset > most || size > most - offset;
}

/// "/name" as shm_open wants it; nothing for what could be a path, or a semaphore.
std::optional<std::string> to_key(std::string_view text) {
    std::string key = text.starts_with('/') ? std::string(text) : '/' + std::string(text);
    const std::string_view name = std::string_view(key).substr(1);
    if (name.empty() || key.size() > longest_key || name == "." || name == "..") return std::nullopt;
    if (name.starts_with("sem.")) return std::nullopt;
    for (const char c : name)
        if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    return key;
}

}  // namespace

result<void> shared_memory_registry::add(shared_region region) {
    if (!shared_memory_file::supported())
        return error{errc::not_implemented, "this system has no shared memory that the server could use"};
    if (!is_model_name(region.name))
        return refuse("a region's name has 1 to 256 bytes of UTF-8 without slashes and control characters");
    const std::optional<std::string> key = to_key(region.key);
    if (!key || region.byte_size == 0 || overflows(region.offset, region.byte_size))
        return refuse("the shared memory could not be opened with this key, offset and size");
    region.key = *key;
    const std::lock_guard lock(mutex_);
    if (entries_.contains(region.name))
        return error{errc::already_exists, "a region of this name is registered already"};
    if (entries_.size() >= most_)
        return error{errc::unavailable, "there are " + std::to_string(most_) + " regions already, which is the limit"};
    std::optional<shared_memory_file> file = shared_memory_file::open(*key, region.offset + region.byte_size);
    if (!file) return refuse("the shared memory could not be opened with this key, offset and size");
    const std::string name = region.name;
    entries_.emplace(name, std::make_shared<const entry>(entry{std::move(region), std::move(*file)}));
    stats_.shared_regions.fetch_add(1, std::memory_order_relaxed);
    return {};
}

void shared_memory_registry::remove(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(name);
    if (at == entries_.end()) return;
    entries_.erase(at);
    stats_.shared_regions.fetch_sub(1, std::memory_order_relaxed);
}

void shared_memory_registry::remove_all() {
    const std::lock_guard lock(mutex_);
    stats_.shared_regions.fetch_sub(static_cast<std::int64_t>(entries_.size()), std::memory_order_relaxed);
    entries_.clear();
}

result<std::vector<shared_region>> shared_memory_registry::list(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    std::vector<shared_region> found;
    for (const auto& [key, each] : entries_)
        if (name.empty() || key == name) found.push_back(each->region);
    if (found.empty() && !name.empty()) return error{errc::not_found, "there is no shared memory region of this name"};
    return found;
}

result<shared_memory_registry::entry_ptr> shared_memory_registry::find(const shared_memory_ref& ref,
                                                                       std::uint64_t size) const {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(ref.region);
    if (at == entries_.end()) return refuse("there is no shared memory region of this name");
    const shared_region& region = at->second->region;
    if (overflows(ref.offset, size) || ref.offset + size > region.byte_size)
        return refuse("the shared memory region ends before what was asked for");
    return at->second;
}

result<void> shared_memory_registry::read(const shared_memory_ref& from, std::span<std::byte> out) const {
    const result<entry_ptr> found = find(from, out.size());
    if (found.has_error()) return found.error();
    if ((*found)->file.read((*found)->region.offset + from.offset, out)) return {};
    return refuse("the shared memory region is shorter than it was");
}

result<void> shared_memory_registry::write(const shared_memory_ref& to, std::span<const std::byte> bytes) const {
    const result<entry_ptr> found = find(to, bytes.size());
    if (found.has_error()) return found.error();
    if ((*found)->file.write((*found)->region.offset + to.offset, bytes)) return {};
    return refuse("the shared memory region is shorter than it was");
}

}  // namespace asio_infer
