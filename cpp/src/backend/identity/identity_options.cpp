#include "backend/identity/identity_options.hpp"

#include <asio_infer/error.hpp>
#include <charconv>
#include <string>
#include <string_view>

namespace asio_infer {
namespace {

constexpr std::uint32_t most_tensors = 64;
constexpr std::size_t most_dims = 16;
constexpr double longest_delay_s = 3600;

[[noreturn]] void refuse(std::string_view option, std::string_view expected, std::string_view value) {
    throw exception(errc::invalid_request, "identity: \"" + std::string(option) + "\" takes " + std::string(expected) +
                                               ", not '" + std::string(value) + "'");
}

template <class Number>
bool parse(std::string_view text, Number& number) noexcept {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc{} && end == text.data() + text.size();
}

dtype parse_datatype(std::string_view value) {
    const auto type = dtype_from_name(value);
    if (!type) refuse("datatype", "a datatype of the protocol", value);
    return *type;
}

asio_infer::shape parse_shape(std::string_view value) {
    asio_infer::shape dims;
    for (std::string_view rest = value; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find(','));
        std::int64_t dim = 0;
        if (!parse(word, dim) || dim < -1 || dims.size() == most_dims || rest.ends_with(','))
            refuse("shape", "up to 16 dims like -1,16", value);
        dims.push_back(dim);
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    return dims;
}

std::uint32_t parse_tensors(std::string_view value) {
    std::uint32_t count = 0;
    if (!parse(value, count) || count < 1 || count > most_tensors) refuse("inputs", "a number from 1 to 64", value);
    return count;
}

std::chrono::nanoseconds parse_delay(std::string_view value) {
    double seconds = 0;
    if (!parse(value, seconds) || !(seconds >= 0 && seconds <= longest_delay_s))
        refuse("delay_s", "seconds from 0 to 3600", value);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

identity_options parse_identity_options(const string_map& given) {
    identity_options options;
    std::string_view fail;
    for (const auto& [name, value] : given) {
        if (name == "datatype")
            options.type = parse_datatype(value);
        else if (name == "shape")
            options.shape = parse_shape(value);
        else if (name == "inputs")
            options.tensors = parse_tensors(value);
        else if (name == "delay_s")
            options.delay = parse_delay(value);
        else if (name == "fail")
            fail = value;
        else
            throw exception(errc::invalid_request, "identity: unknown option \"" + name +
                                                       "\". There are: datatype, shape, inputs, delay_s, fail");
    }
    options.fault = fault_rule(fail, options.type);
    return options;
}

}  // namespace asio_infer
