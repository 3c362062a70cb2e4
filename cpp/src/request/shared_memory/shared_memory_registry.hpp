#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/model_stats.hpp"
#include "core/shared_region.hpp"
#include "request/shared_memory/shared_memory_file.hpp"

namespace asio_infer {

/// The regions of shared memory that clients have registered. Thread-safe. A region that is taken out while it is read
/// or written lives until that is done.
///
/// What is wrong with a region is told without its name or key, and in the same words whether it does not exist, is not
/// allowed or is too small: callers cannot find out about memory that is not theirs.
class shared_memory_registry {
public:
    shared_memory_registry(std::size_t most_regions, server_stats& stats) : most_(most_regions), stats_(stats) {}
    ~shared_memory_registry() { remove_all(); }
    shared_memory_registry(const shared_memory_registry&) = delete;
    shared_memory_registry& operator=(const shared_memory_registry&) = delete;

    /// invalid_request for a name or key that cannot be one, and for memory that cannot be opened with this size;
    /// already_exists for a name that is in use; unavailable if there are too many; not_implemented where the system
    /// has no such memory.
    result<void> add(shared_region region);
    /// A name that is not registered is no error.
    void remove(std::string_view name);
    void remove_all();
    /// The region with this name, or all for "". not_found if there is none of that name.
    result<std::vector<shared_region>> list(std::string_view name) const;

    /// Reads what `from` names. invalid_request if there is no such region, it has fewer bytes, or it has become
    /// shorter.
    result<void> read(const shared_memory_ref& from, std::span<std::byte> out) const;
    result<void> write(const shared_memory_ref& to, std::span<const std::byte> bytes) const;

private:
    struct entry {
        shared_region region;
        shared_memory_file file;
    };
    using entry_ptr = std::shared_ptr<const entry>;

    result<entry_ptr> find(const shared_memory_ref& ref, std::uint64_t size) const;

    const std::size_t most_;
    server_stats& stats_;
    mutable std::mutex mutex_;  ///< guards the map
    std::map<std::string, entry_ptr, std::less<>> entries_;
};

}  // namespace asio_infer
