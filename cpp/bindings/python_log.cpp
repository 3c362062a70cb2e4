#include "python_log.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python.hpp"
#include "python_thread.hpp"

namespace asio_infer::bindings {

namespace {

using owned_value = std::variant<std::string, std::int64_t, std::uint64_t, double, bool>;

/// Any bytes as a str: what is not UTF-8 shows as escapes.
py::object to_str(std::string_view text) {
    auto object = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    if (!object) {
        throw py::error_already_set();
    }
    return object;
}

struct own {
    owned_value operator()(std::string_view text) const { return std::string(text); }
    template <class T>
    owned_value operator()(T value) const {
        return value;
    }
};

struct to_python {
    py::object operator()(const std::string& text) const { return to_str(text); }
    template <class T>
    py::object operator()(T value) const {
        return py::cast(value);
    }
};

double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// One record on its way; deletes itself.
class record final : public python_work {
public:
    record(log_level level, std::string_view message, std::initializer_list<log_field> fields,
           std::shared_ptr<python_log::counters> counters)
        : level_(level), message_(message), time_s_(seconds_since_1970()), counters_(std::move(counters)) {
        fields_.reserve(fields.size());
        for (const auto& [name, value] : fields) {
            fields_.emplace_back(name, std::visit(own{}, value));
        }
    }

    void run(loop_batches&) noexcept override {
        const std::unique_ptr<record> self(this);
        counters_->waiting.fetch_sub(1, std::memory_order_relaxed);
        try {
            emit();
        } catch (py::error_already_set& e) {
            e.discard_as_unraisable("asio_infer: logging");
        } catch (const std::exception&) {
            // Out of memory: the record is lost.
        }
    }

private:
    void emit() const {
        py::dict fields;
        for (const auto& [name, value] : fields_) {
            fields[to_str(name)] = std::visit(to_python{}, value);
        }
        const py::object module = py::module_::import("asio_infer._logging");
        const std::uint64_t dropped = counters_->dropped.load(std::memory_order_relaxed);
        if (const std::uint64_t since = dropped - std::exchange(counters_->reported, dropped)) {
            module.attr("emit_dropped")(since, time_s_);
        }
        module.attr("emit")(static_cast<int>(level_), to_str(message_), fields, time_s_);
    }

    log_level level_;
    std::string message_;
    std::vector<std::pair<std::string, owned_value>> fields_;
    double time_s_;
    std::shared_ptr<python_log::counters> counters_;
};

}  // namespace

void python_log::write(log_level level, std::string_view message, std::initializer_list<log_field> fields) noexcept {
    if (!enabled(level)) {
        return;
    }
    if (waiting_->waiting.fetch_add(1, std::memory_order_relaxed) >= max_waiting) {
        waiting_->waiting.fetch_sub(1, std::memory_order_relaxed);
        waiting_->dropped.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    try {
        python_thread::get().post(*new record(level, message, fields, waiting_));
    } catch (const std::exception&) {
        waiting_->waiting.fetch_sub(1, std::memory_order_relaxed);
        waiting_->dropped.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace asio_infer::bindings
