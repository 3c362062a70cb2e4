// A load generator for a server on this machine. See usage().

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "load/loops.hpp"

namespace {

namespace asio = boost::asio;
using load::clock;

constexpr std::chrono::seconds patience{30};  ///< for what is outstanding at the end

constexpr const char* usage =
    "asio_infer_load --port P --request FILE [--request FILE ...] [--expect FILE] --seconds S --connections N\n"
    "    [--rate R] [--idle N] [--probe PATH --probe-hz H]\n"
    "\n"
    "Sends the requests in the files (raw HTTP) to 127.0.0.1:P in turn and prints what became of them as JSON.\n"
    "Without --rate N connections send one request after the other; with it R requests a second are sent when they "
    "are\n"
    "due, on at most N connections. --expect: the body that every 200 must have. --idle: connections that ask once "
    "and\n"
    "stay open meanwhile; a line \"idle\" on stdout says when they are open, a line on stdin starts the load.\n";

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct command_line {
    command_line(int count, char** arguments) {
        for (int i = 1; i + 1 < count; i += 2) {
            const std::string name = arguments[i];
            if (name == "--request")
                how.requests.push_back(read_file(arguments[i + 1]));
            else
                values[name] = arguments[i + 1];
        }
        if (count % 2 == 0 || how.requests.empty() || !values.contains("--port")) throw std::invalid_argument(usage);
        how.server = {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(number("--port", 0))};
        how.connections = static_cast<std::size_t>(number("--connections", 1));
        how.rate = number("--rate", 0);
        how.seconds = std::chrono::duration<double>(number("--seconds", 1));
        if (values.contains("--expect")) how.expected = read_file(values.at("--expect"));
    }
    double number(const std::string& name, double otherwise) const {
        return values.contains(name) ? std::stod(values.at(name)) : otherwise;
    }
    load::settings how;
    std::map<std::string, std::string> values;
};

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: load\r\n\r\n"; }

void allow_many_descriptors() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void print(load::tally& counts, double seconds, std::size_t idle_failed) {
    std::ostream& out = std::cout;
    out << "{\"sent\":" << counts.sent << ",\"unsent\":" << counts.unsent << ",\"answered\":{";
    const char* comma = "";
    for (const auto& [status, count] : counts.answered)
        out << std::exchange(comma, ",") << '"' << status << "\":" << count;
    out << "},\"wrong\":" << counts.wrong << ",\"without_retry_after\":" << counts.without_retry_after
        << ",\"broken\":" << counts.broken << ",\"unanswered\":" << counts.unanswered
        << ",\"idle_failed\":" << idle_failed << ",\"goodput\":" << static_cast<double>(counts.answered[200]) / seconds
        << ",\"cpu_s\":" << cpu_seconds() << ",\"good\":";
    counts.good.print(out);
    out << ",\"refused\":";
    counts.refused.print(out);
    out << ",\"probes_failed\":" << counts.probes_failed << ",\"probes\":";
    counts.probes.print(out);
    out << "}\n";
}

/// Runs the context until the condition holds, for a limited time; whether it does.
template <class Condition>
bool run_until(asio::io_context& context, Condition condition, clock::duration most) {
    const clock::time_point end = clock::now() + most;
    while (!condition() && clock::now() < end) context.run_one_for(std::chrono::milliseconds(10));
    return condition();
}

void run(const command_line& given) {
    asio::io_context context(1);
    const auto work = asio::make_work_guard(context);
    load::tally counts;
    load::idlers idle(context, given.how.server, static_cast<std::size_t>(given.number("--idle", 0)),
                      get("/v2/health/live"));
    bool ready = false;
    idle.start([&] { ready = true; });
    if (!run_until(context, [&] { return ready; }, std::chrono::minutes(2))) throw std::runtime_error("no connection");
    if (given.values.contains("--idle")) {
        std::cout << "idle" << std::endl;
        std::string line;
        std::getline(std::cin, line);
    }
    const std::string probed = given.values.contains("--probe") ? given.values.at("--probe") : "";
    load::prober probe(context, given.how.server, get(probed), given.number("--probe-hz", 20), counts);
    if (!probed.empty()) probe.start();
    load::generator generator(context, given.how, counts);
    const clock::time_point began = clock::now();
    generator.start();
    const auto most = std::chrono::duration_cast<clock::duration>(given.how.seconds) + patience;
    run_until(context, [&] { return generator.finished(); }, most);
    const std::chrono::duration<double> took = clock::now() - began;
    probe.stop();
    counts.unanswered = generator.outstanding();
    print(counts, std::max(took.count(), given.how.seconds.count()), idle.failed());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        allow_many_descriptors();
        run(command_line(count, arguments));
    } catch (const std::exception& failure) {
        std::cerr << failure.what() << '\n';
        return 2;
    }
    return 0;
}
