#include "request/json_data.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/escape.hpp"
#include "core/number_text.hpp"

namespace asio_infer {
namespace {

constexpr std::size_t first_bytes = 256;

std::string_view takes(dtype type) noexcept {
    if (type == dtype::boolean) return "true or false";
    return type == dtype::bytes ? "strings" : "numbers";
}

}  // namespace

void data_builder::begin(dtype type, std::span<const std::int64_t> dims, std::size_t elements) {
    type_ = type;
    flat_ = false;
    nested_ = false;
    width_ = element_size(type);
    elements_ = elements;
    count_ = 0;
    dims_ = dims;
    open_.clear();
    memory_ = unique_buffer{};
    used_ = 0;
}

bool data_builder::value(const json_value& v) {
    switch (v.type) {
        case json_value::kind::number:
            return place_scalar() && store_number(v.text);
        case json_value::kind::array:
            return open_array();
        case json_value::kind::string:
            return place_scalar() && store_string(v.text);
        case json_value::kind::boolean:
            return place_scalar() && store_boolean(v.truth);
        case json_value::kind::object:
        case json_value::kind::null:
            break;
    }
    return refuse_kind(v.type);
}

bool data_builder::open_array() {
    if (!open_.empty()) {
        const std::size_t level = open_.size() - 1;
        nested_ = true;
        if (flat_ || open_.size() >= dims_.size()) return refuse("nested otherwise than shape " + to_string(dims_));
        if (++open_[level] > dims_[level]) return refuse("more rows than shape " + to_string(dims_) + " has");
    }
    open_.push_back(0);
    return true;
}

bool data_builder::close_array() {
    const std::size_t level = open_.size() - 1;
    if (nested_ && open_[level] != dims_[level])
        return refuse("a row with " + std::to_string(open_[level]) + " items where shape " + to_string(dims_) +
                      " takes " + std::to_string(dims_[level]));
    open_.pop_back();
    return true;
}

/// Whether a scalar may stand here; counts it.
bool data_builder::place_scalar() {
    if (open_.size() == 1 && !nested_) {
        flat_ = true;
    } else {
        if (open_.size() != dims_.size())
            return refuse(open_.empty() ? "must be an array for shape " + to_string(dims_)
                                        : "nested otherwise than shape " + to_string(dims_));
        if (!open_.empty()) ++open_.back();
    }
    if (count_ == elements_)
        return refuse("more than the " + std::to_string(elements_) + " values of shape " + to_string(dims_));
    ++count_;
    return true;
}

bool data_builder::store_number(std::string_view text) {
    if (type_ == dtype::boolean || type_ == dtype::bytes) return refuse_kind(json_value::kind::number);
    const number_fault fault = parse_number(text, type_, grow(width_));
    if (fault == number_fault::none) return true;
    return refuse("element " + std::to_string(count_ - 1) + ": " + printable(text, 40) + ' ' +
                  std::string(describe(fault)) + (fault == number_fault::range ? " for " : " as ") +
                  std::string(name(type_)) + (fault == number_fault::range ? "" : " needs"));
}

bool data_builder::store_string(std::string_view text) {
    if (type_ != dtype::bytes) return refuse_kind(json_value::kind::string);
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) return refuse("a string of more than 4 GiB");
    const auto length = static_cast<std::uint32_t>(text.size());
    std::byte* const at = grow(sizeof length + text.size());
    std::memcpy(at, &length, sizeof length);
    std::memcpy(at + sizeof length, text.data(), text.size());
    return true;
}

bool data_builder::store_boolean(bool truth) {
    if (type_ != dtype::boolean) return refuse_kind(json_value::kind::boolean);
    *grow(1) = truth ? std::byte{1} : std::byte{0};
    return true;
}

/// Room for that many more bytes, which the caller fills.
std::byte* data_builder::grow(std::size_t bytes) {
    const std::size_t needed = used_ + bytes;
    if (needed > memory_.size()) {
        std::size_t size = std::max({needed, 2 * memory_.size(), first_bytes});
        if (type_ != dtype::bytes) size = std::min(size, elements_ * width_);
        unique_buffer larger(size);
        if (used_ > 0) std::memcpy(larger.data(), memory_.data(), used_);
        memory_ = std::move(larger);
    }
    return memory_.data() + std::exchange(used_, needed);
}

bool data_builder::finish(buffer& out) {
    if (count_ != elements_)
        return refuse(std::to_string(count_) + " values where shape " + to_string(dims_) + " takes " +
                      std::to_string(elements_));
    if (elements_ == 0) memory_ = unique_buffer(0);  // empty, but with an address
    memory_.truncate(used_);
    out = std::move(memory_).share();
    memory_ = unique_buffer{};
    return true;
}

bool data_builder::refuse(std::string what) {
    fault_ = "data: " + std::move(what);
    return false;
}

bool data_builder::refuse_kind(json_value::kind given) {
    return refuse(std::string(describe(given)) + " where " + std::string(name(type_)) + " takes " +
                  std::string(takes(type_)));
}

// '[' and ']' as they are; 't', 'f', 'z' for true, false, null; numbers as written and a comma; strings as 's',
// 4 bytes of length, the bytes.
void data_tokens::value(const json_value& v) {
    switch (v.type) {
        case json_value::kind::number:
            (packed_ += v.text) += ',';
            break;
        case json_value::kind::array:
            packed_ += '[';
            break;
        case json_value::kind::boolean:
            packed_ += v.truth ? 't' : 'f';
            break;
        case json_value::kind::null:
            packed_ += 'z';
            break;
        case json_value::kind::object:
            break;
        case json_value::kind::string: {
            const auto length = static_cast<std::uint32_t>(v.text.size());
            packed_ += 's';
            packed_.append(reinterpret_cast<const char*>(&length), sizeof length);
            packed_ += v.text;
        }
    }
}

bool data_tokens::replay(data_builder& to) const {
    using enum json_value::kind;
    std::string_view rest = packed_;
    const auto take = [&rest](std::size_t size) {
        const std::string_view head = rest.substr(0, size);
        rest.remove_prefix(size);
        return head;
    };
    bool good = true;
    while (good && !rest.empty()) {
        switch (rest.front()) {
            case '[':
                take(1), good = to.value({array, {}});
                break;
            case ']':
                take(1), good = to.close_array();
                break;
            case 't':
                take(1), good = to.value({boolean, {}, true});
                break;
            case 'f':
                take(1), good = to.value({boolean, {}, false});
                break;
            case 'z':
                take(1), good = to.value({null, {}});
                break;
            case 's': {
                std::uint32_t length = 0;
                std::memcpy(&length, take(1 + sizeof length).data() + 1, sizeof length);
                good = to.value({string, take(length)});
                break;
            }
            default:
                good = to.value({number, take(rest.find(','))});
                take(1);
        }
    }
    return good;
}

}  // namespace asio_infer
