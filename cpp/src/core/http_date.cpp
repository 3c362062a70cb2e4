#include "core/http_date.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace asio_infer {

namespace {

struct printed_date {
    std::time_t second = -1;
    std::array<char, 64> text{};
    std::size_t size = 0;
};

void print(printed_date& date) noexcept {
    namespace chrono = std::chrono;
    static constexpr const char* days[]{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* months[]{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const chrono::sys_seconds second{chrono::seconds(date.second)};
    const auto day = chrono::floor<chrono::days>(second);
    const chrono::year_month_day ymd{day};
    const chrono::hh_mm_ss time{second - day};
    const int size = std::snprintf(date.text.data(), date.text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                                   days[chrono::weekday(day).c_encoding()], static_cast<unsigned>(ymd.day()),
                                   months[static_cast<unsigned>(ymd.month()) - 1], static_cast<int>(ymd.year()),
                                   static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                                   static_cast<int>(time.seconds().count()));
    date.size = size > 0 ? static_cast<std::size_t>(size) : 0;
}

}  // namespace

std::string_view http_date() noexcept {
    thread_local printed_date date;
    const std::time_t now = std::time(nullptr);
    if (now != date.second) {
        date.second = now;
        print(date);
    }
    return {date.text.data(), date.size};
}

}  // namespace asio_infer
