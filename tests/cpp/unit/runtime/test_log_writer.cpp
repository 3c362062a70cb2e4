#include "runtime/log_writer.hpp"

#include <doctest/doctest.h>

#ifndef _WIN32

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

using namespace asio_infer;

namespace {

/// A pipe whose reader may be slow or gone.
class pipe_ends {
public:
    explicit pipe_ends(int flags = 0) { REQUIRE(::pipe2(ends_, flags) == 0); }
    ~pipe_ends() {
        close_reader();
        close_writer();
    }
    int writer() const { return ends_[1]; }
    void close_reader() { close_end(0); }
    void close_writer() { close_end(1); }
    /// Fills the pipe; returns how many bytes that took.
    std::size_t fill() {
        const int flags = ::fcntl(ends_[1], F_GETFL);
        ::fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
        const std::string block(4'096, '.');
        std::size_t bytes = 0;
        for (ssize_t n = 0; (n = ::write(ends_[1], block.data(), block.size())) > 0;)
            bytes += static_cast<std::size_t>(n);
        ::fcntl(ends_[1], F_SETFL, flags);
        return bytes;
    }
    /// Everything up to the end that close_writer() makes.
    std::string read_all() {
        std::string text;
        char block[4'096];
        for (ssize_t n = 0; (n = ::read(ends_[0], block, sizeof block)) > 0;)
            text.append(block, static_cast<std::size_t>(n));
        return text;
    }
    std::string read(std::size_t bytes) {
        std::string text(bytes, '\0');
        std::size_t size = 0;
        while (size < bytes) {
            const ssize_t n = ::read(ends_[0], text.data() + size, bytes - size);
            REQUIRE(n > 0);
            size += static_cast<std::size_t>(n);
        }
        return text;
    }

private:
    void close_end(int which) {
        if (ends_[which] >= 0) ::close(ends_[which]);
        ends_[which] = -1;
    }
    int ends_[2] = {-1, -1};
};

/// The lines without their times.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back(text.substr(begin + 25, end - begin - 25));
        begin = end + 1;
    }
    return lines;
}

log_writer_options options_for(const pipe_ends& pipe) {
    log_writer_options options;
    options.descriptor = pipe.writer();
    return options;
}

}  // namespace

TEST_CASE("records leave in order, and the end of the writer flushes") {
    pipe_ends pipe;
    {
        const auto log = make_log_writer(log_level::info, log_format::text, pipe.writer());
        for (int i = 0; i < 100; ++i) log->write(log_level::info, "record", {{"i", std::int64_t{i}}});
    }
    pipe.close_writer();
    const std::vector<std::string> lines = lines_of(pipe.read_all());
    REQUIRE(lines.size() == 100);
    for (std::size_t i = 0; i < 100; ++i) CHECK(lines[i] == "INFO  record i=" + std::to_string(i));
}

TEST_CASE("records below the level are left out, and off is silent") {
    pipe_ends pipe;
    {
        const auto log = make_log_writer(log_level::warning, log_format::text, pipe.writer());
        CHECK_FALSE(log->enabled(log_level::info));
        CHECK(log->enabled(log_level::warning));
        log->write(log_level::info, "no");
        log->write(log_level::error, "yes");
        const auto silent = make_log_writer(log_level::off, log_format::text, pipe.writer());
        CHECK_FALSE(silent->enabled(log_level::error));
        CHECK_FALSE(silent->enabled(log_level::off));
        silent->write(log_level::error, "no");
    }
    pipe.close_writer();
    CHECK(lines_of(pipe.read_all()) == std::vector<std::string>{"ERROR yes"});
}

TEST_CASE("many threads may write at once; no record is lost or mixed") {
    pipe_ends pipe;
    std::string text;
    std::thread reader([&] { text = pipe.read_all(); });
    {
        const auto log = make_log_writer(log_level::info, log_format::text, pipe.writer());
        std::vector<std::thread> writers;
        for (int t = 0; t < 4; ++t) {
            writers.emplace_back([&log] {
                for (int i = 0; i < 500; ++i)
                    log->write(log_level::info, "record", {{"text", std::string_view("a b")}});
            });
        }
        for (std::thread& writer : writers) writer.join();
        CHECK(log->dropped() == 0);
    }
    pipe.close_writer();
    reader.join();
    CHECK(lines_of(text) == std::vector<std::string>(2'000, "INFO  record text=\"a b\""));
}

TEST_CASE("a reader that is slow costs records, never the callers' time; the loss is counted and reported") {
    pipe_ends pipe;
    const std::size_t filled = pipe.fill();
    std::uint64_t dropped = 0;
    {
        log_writer_options options = options_for(pipe);
        options.bounds.records = 10;
        options.flush_limit = std::chrono::minutes(1);
        const auto log = make_log_writer(options);
        // At most 10 are with the thread and 10 wait.
        for (int i = 0; i < 100; ++i) log->write(log_level::info, "record");
        dropped = log->dropped();
        CHECK(dropped >= 80);
        CHECK(dropped <= 90);
        CHECK(pipe.read(filled) == std::string(filled, '.'));
    }
    pipe.close_writer();
    std::uint64_t written = 0;
    std::uint64_t reported = 0;
    for (const std::string& line : lines_of(pipe.read_all())) {
        const std::string report = "WARN  log records dropped count=";
        if (line.rfind(report, 0) == 0) {
            reported += std::stoul(line.substr(report.size()));
        } else {
            CHECK(line == "INFO  record");
            ++written;
        }
    }
    CHECK(written == 100 - dropped);
    CHECK(reported == dropped);
}

TEST_CASE("a reader that never reads does not hold up the end, and the rest counts as dropped") {
    for (const int flags : {0, O_NONBLOCK}) {
        pipe_ends pipe(flags);
        pipe.fill();
        log_writer_options options = options_for(pipe);
        options.flush_limit = std::chrono::milliseconds(0);
        make_log_writer(options)->write(log_level::info, "record");
    }
}

TEST_CASE("a reader that is gone is an error, not a signal") {
    pipe_ends pipe;
    pipe.close_reader();
    const auto log = make_log_writer(options_for(pipe));
    log->write(log_level::info, "record");
}

TEST_CASE("a descriptor that is none does no harm") {
    make_log_writer(log_level::info, log_format::json, -1)->write(log_level::info, "record");
}

#endif
