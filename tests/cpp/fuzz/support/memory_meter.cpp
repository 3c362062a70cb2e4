#include "fuzz/support/memory_meter.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

// Signed: what was allocated before a meter began may be freed after.
thread_local std::ptrdiff_t live_bytes = 0;
thread_local std::ptrdiff_t most_bytes = 0;

void* counted(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    live_bytes += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    most_bytes = std::max(most_bytes, live_bytes);
    return memory;
}

void uncounted(void* memory) noexcept {
    if (memory != nullptr) live_bytes -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    std::free(memory);
}

std::size_t rounded_up(std::size_t size, std::size_t alignment) noexcept {
    return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

// All forms: a sanitizer has its own of each, which must not be mixed with these. It sees the malloc() below them.
void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto boundary = static_cast<std::size_t>(alignment);
    return counted(std::aligned_alloc(boundary, rounded_up(size, boundary)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
    return operator new(size);
} catch (const std::bad_alloc&) {
    return nullptr;
}
void* operator new[](std::size_t size, const std::nothrow_t& quiet) noexcept { return operator new(size, quiet); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { uncounted(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { uncounted(memory); }

namespace asio_infer::fuzz {

memory_meter::memory_meter() noexcept { most_bytes = live_bytes = 0; }

std::size_t memory_meter::peak_bytes() const noexcept {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(most_bytes, 0));
}

}  // namespace asio_infer::fuzz
