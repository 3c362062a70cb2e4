#pragma once

#include <asio_infer/log.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace asio_infer {

using wall_time = std::chrono::system_clock::time_point;

/// A record as it is read back from a batch; it points into it.
struct log_record {
    wall_time when;
    log_level level = log_level::info;
    std::string_view message;
    std::span<const log_field> fields;
};

/// Bounds on what waits to be written.
struct log_bounds {
    std::size_t records = 8'192;
    std::size_t bytes = std::size_t{1} << 20;  ///< of all texts together
    std::size_t value_bytes = 4'096;           ///< longer texts are cut
};

/// Copies of records, in memory that is reused: once it has grown to what is usual, adding a record allocates
/// nothing. Not thread-safe.
class log_batch {
public:
    explicit log_batch(const log_bounds& bounds) noexcept : bounds_(bounds) {}

    /// False, and no change, if the record does not fit. Throws std::bad_alloc, also without a change.
    bool add(wall_time when, log_level level, std::string_view message, std::initializer_list<log_field> fields);
    bool empty() const noexcept { return records_.empty(); }
    std::size_t size() const noexcept { return records_.size(); }
    /// The record at `index`, valid until the batch changes or is asked for another. Throws std::bad_alloc.
    log_record operator[](std::size_t index);
    void clear() noexcept;

private:
    struct text_place {
        std::size_t offset;
        std::size_t length;
    };
    struct stored_field {
        text_place name;
        log_value value;  ///< a text in it points nowhere: `text` has it
        text_place text;
    };
    struct stored_record {
        wall_time when;
        log_level level;
        text_place message;
        std::size_t first_field;
        std::size_t field_count;
    };

    std::string_view clipped(std::string_view text) const noexcept { return text.substr(0, bounds_.value_bytes); }
    text_place keep(std::string_view text);
    void store(wall_time when, log_level level, std::string_view message, std::initializer_list<log_field> fields);
    std::string_view text_at(text_place place) const noexcept {
        return std::string_view(texts_).substr(place.offset, place.length);
    }

    log_bounds bounds_;
    std::vector<stored_record> records_;
    std::vector<stored_field> fields_;
    std::string texts_;
    std::vector<log_field> view_;  ///< of the record that was asked for last
};

}  // namespace asio_infer
