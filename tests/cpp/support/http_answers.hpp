#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio_infer::testing {

/// One answer as a client reads it. Header names are in lower case.
struct http_answer {
    int status = 0;
    std::map<std::string, std::string> headers;
    std::string body;

    std::string header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
    }
};

/// Takes answers off a byte stream, strictly: what is no well-formed answer throws std::runtime_error.
class http_answer_reader {
public:
    void append(std::string_view bytes) { bytes_.append(bytes); }
    /// What has not been taken yet.
    const std::string& rest() const noexcept { return bytes_; }

    /// The next answer, or nothing if it is not complete. `without_body`: it answers a HEAD.
    std::optional<http_answer> next(bool without_body = false) {
        const std::size_t head_end = bytes_.find("\r\n\r\n");
        if (head_end == std::string::npos) return std::nullopt;
        http_answer answer = parse_head(std::string_view(bytes_).substr(0, head_end + 2));
        const bool bodyless = without_body || answer.status < 200 || answer.status == 204;
        const std::size_t size = bodyless ? 0 : number(answer.header("content-length"));
        const std::size_t start = head_end + 4;
        if (bytes_.size() - start < size) return std::nullopt;
        answer.body = bytes_.substr(start, size);
        bytes_.erase(0, start + size);
        return answer;
    }

private:
    static std::size_t number(std::string_view text) {
        std::size_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc{} || text.empty() || end != text.data() + text.size())
            throw std::runtime_error("not a number: '" + std::string(text) + "'");
        return value;
    }

    static http_answer parse_head(std::string_view head) {
        http_answer answer;
        bool first = true;
        while (!head.empty()) {
            const std::size_t end = head.find("\r\n");
            const std::string_view line = head.substr(0, end);
            head.remove_prefix(end + 2);
            if (std::exchange(first, false)) {
                if (!line.starts_with("HTTP/1.1 ") || line.size() < 13 || line[12] != ' ')
                    throw std::runtime_error("not a status line: '" + std::string(line) + "'");
                answer.status = static_cast<int>(number(line.substr(9, 3)));
                continue;
            }
            const std::size_t colon = line.find(": ");
            if (colon == std::string_view::npos)
                throw std::runtime_error("not a header line: '" + std::string(line) + "'");
            std::string name(line.substr(0, colon));
            std::transform(name.begin(), name.end(), name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
            if (!answer.headers.emplace(name, line.substr(colon + 2)).second)
                throw std::runtime_error("header given twice: " + name);
        }
        return answer;
    }

    std::string bytes_;
};

/// All answers in `bytes`, of which nothing may be left over.
inline std::vector<http_answer> parse_answers(std::string_view bytes) {
    http_answer_reader reader;
    reader.append(bytes);
    std::vector<http_answer> answers;
    while (auto answer = reader.next()) answers.push_back(std::move(*answer));
    if (!reader.rest().empty()) throw std::runtime_error("half an answer: '" + reader.rest() + "'");
    return answers;
}

}  // namespace asio_infer::testing
