#include "runtime/log_record.hpp"

#include <variant>

namespace asio_infer {

namespace {

std::string_view text_of(const log_value& value) noexcept {
    const auto* const text = std::get_if<std::string_view>(&value);
    return text == nullptr ? std::string_view{} : *text;
}

}  // namespace

bool log_batch::add(wall_time when, log_level level, std::string_view message,
                    std::initializer_list<log_field> fields) {
    std::size_t needed = clipped(message).size();
    for (const log_field& field : fields) needed += clipped(field.first).size() + clipped(text_of(field.second)).size();
    if (records_.size() >= bounds_.records || needed > bounds_.bytes - texts_.size()) return false;
    const std::size_t texts_before = texts_.size();
    const std::size_t fields_before = fields_.size();
    try {
        store(when, level, message, fields);
    } catch (...) {
        texts_.resize(texts_before);
        fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(fields_before), fields_.end());
        throw;
    }
    return true;
}

void log_batch::store(wall_time when, log_level level, std::string_view message,
                      std::initializer_list<log_field> fields) {
    const std::size_t first_field = fields_.size();
    const text_place kept_message = keep(message);
    for (const auto& [name, value] : fields) {
        const text_place kept_name = keep(name);
        fields_.push_back({kept_name, value, keep(text_of(value))});
    }
    records_.push_back({when, level, kept_message, first_field, fields.size()});
}

log_batch::text_place log_batch::keep(std::string_view text) {
    const std::size_t offset = texts_.size();
    texts_ += clipped(text);
    return {offset, texts_.size() - offset};
}

log_record log_batch::operator[](std::size_t index) {
    const stored_record& record = records_[index];
    view_.clear();
    for (std::size_t i = 0; i < record.field_count; ++i) {
        const stored_field& field = fields_[record.first_field + i];
        log_value value = field.value;
        if (std::holds_alternative<std::string_view>(value)) value = text_at(field.text);
        view_.emplace_back(text_at(field.name), value);
    }
    return {record.when, record.level, text_at(record.message), view_};
}

void log_batch::clear() noexcept {
    records_.clear();
    fields_.clear();
    texts_.clear();
}

}  // namespace asio_infer
