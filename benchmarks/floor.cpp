// The floor: the least that a server can do for one inference on this machine. One thread, one epoll loop, one ONNX
// Runtime session that runs inline. It reads a request by its Content-Length, skips the JSON of a binary body, gives
// the FP32 rows behind it to the model where they lie and answers with the model's output. No checks, no batches, no
// limits, no metrics: something to measure a server against, not a server.
//
//   g++ -O2 -std=c++20 -I cpp/src benchmarks/floor.cpp -o floor -ldl
//   ./floor LIBONNXRUNTIME MODEL.onnx PORT INPUT COLUMNS OUTPUT      the model: FP32 [N, COLUMNS] -> FP32 [N, M]
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// What the backend says about ONNX Runtime's C interface.
#include "backend/onnx/ort_slots.hpp"
#include "backend/onnx/ort_types.hpp"

namespace {

using namespace asio_infer::ort;
using std::int64_t;
using std::size_t;

[[noreturn]] void give_up(const char* what, const char* why) {
    std::fprintf(stderr, "floor: %s: %s\n", what, why);
    std::exit(1);
}

/// The functions of ONNX Runtime that are older than the oldest version that asio_infer takes.
struct ort_functions {
#define FLOOR_MEMBER(slot, since, returns, name, parameters) returns(*name) parameters;
    ASIO_INFER_ORT_SLOTS(FLOOR_MEMBER)
#undef FLOOR_MEMBER

    explicit ort_functions(const char* library) {
        setenv("ORT_DISABLE_TELEMETRY", "1", 1);
        void* const loaded = dlopen(library, RTLD_NOW);
        if (loaded == nullptr) give_up("ONNX Runtime", dlerror());
        const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(loaded, "OrtGetApiBase"));
        const auto* const table = reinterpret_cast<void (*const*)()>(get_base()->GetApi(19));
        if (table == nullptr) give_up("ONNX Runtime", "1.19 or newer is needed");
#define FLOOR_READ(slot, since, returns, name, parameters) \
    name = since > 19 ? nullptr : reinterpret_cast<returns(*) parameters>(table[slot]);
        ASIO_INFER_ORT_SLOTS(FLOOR_READ)
#undef FLOOR_READ
    }

    void check(OrtStatus* status) const {
        if (status != nullptr) give_up("ONNX Runtime", GetErrorMessage(status));
    }
};

void keep_quiet(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

/// A session of one FP32 matrix in and one out.
class matrix_model {
public:
    matrix_model(const char* library, const char* file, const char* input, int64_t columns, const char* output)
        : ort_(library), input_(input), output_(output), columns_(columns) {
        OrtThreadingOptions* threads = nullptr;
        OrtEnv* env = nullptr;
        OrtSessionOptions* options = nullptr;
        ort_.check(ort_.CreateThreadingOptions(&threads));
        ort_.check(ort_.SetGlobalIntraOpNumThreads(threads, 1));  // none beside this one
        ort_.check(ort_.SetGlobalInterOpNumThreads(threads, 1));
        ort_.check(ort_.CreateEnvWithCustomLoggerAndGlobalThreadPools(keep_quiet, nullptr, ORT_LOGGING_LEVEL_ERROR,
                                                                      "floor", threads, &env));
        ort_.check(ort_.CreateSessionOptions(&options));
        ort_.check(ort_.SetIntraOpNumThreads(options, 1));
        ort_.check(ort_.CreateSession(env, file, options, &session_));
        ort_.check(ort_.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
    }

    /// Appends the whole answer to the rows. Precondition: at least one row.
    void answer(std::span<char> rows, std::string& out) const {
        const auto row_bytes = static_cast<size_t>(columns_) * sizeof(float);
        const std::array<int64_t, 2> shape{static_cast<int64_t>(rows.size() / row_bytes), columns_};
        OrtValue* x = nullptr;
        OrtValue* y = nullptr;
        ort_.check(ort_.CreateTensorWithDataAsOrtValue(memory_, rows.data(), rows.size(), shape.data(), shape.size(),
                                                       ONNXTensorElementDataType{1}, &x));
        ort_.check(ort_.Run(session_, nullptr, &input_, &x, 1, &output_, 1, &y));
        append_answer(y, out);
        ort_.ReleaseValue(x);
        ort_.ReleaseValue(y);
    }

    size_t row_bytes() const { return static_cast<size_t>(columns_) * sizeof(float); }

private:
    void append_answer(OrtValue* y, std::string& out) const {
        std::array<int64_t, 2> shape{};
        OrtTensorTypeAndShapeInfo* info = nullptr;
        void* data = nullptr;
        ort_.check(ort_.GetTensorTypeAndShape(y, &info));
        ort_.check(ort_.GetDimensions(info, shape.data(), shape.size()));
        ort_.ReleaseTensorTypeAndShapeInfo(info);
        ort_.check(ort_.GetTensorMutableData(y, &data));
        const size_t bytes = static_cast<size_t>(shape[0] * shape[1]) * sizeof(float);

        std::array<char, 512> json;
        const int json_size =
            std::snprintf(json.data(), json.size(),
                          R"({"model_name":"m","outputs":[{"name":"%s","datatype":"FP32","shape":[%lld,%lld],)"
                          R"("parameters":{"binary_data_size":%zu}}]})",
                          output_, static_cast<long long>(shape[0]), static_cast<long long>(shape[1]), bytes);
        std::array<char, 256> head;
        const int head_size = std::snprintf(head.data(), head.size(),
                                            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                                            "Inference-Header-Content-Length: %d\r\nContent-Length: %zu\r\n\r\n",
                                            json_size, static_cast<size_t>(json_size) + bytes);
        out.append(head.data(), static_cast<size_t>(head_size));
        out.append(json.data(), static_cast<size_t>(json_size));
        out.append(static_cast<const char*>(data), bytes);
    }

    ort_functions ort_;
    const char* input_;
    const char* output_;
    int64_t columns_;
    OrtSession* session_ = nullptr;
    OrtMemoryInfo* memory_ = nullptr;
};

/// The number behind a header's name in a text that ends with NUL; 0 if the header is not there.
size_t number_of(const char* head, const char* name) {
    const char* const at = strcasestr(head, name);
    return at == nullptr ? 0 : std::strtoul(at + std::strlen(name), nullptr, 10);
}

/// One client. It must wait for each answer before it asks again: what else has arrived is dropped.
class connection {
public:
    explicit connection(int descriptor) : descriptor_(descriptor), in_(1 << 16) {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { close(descriptor_); }

    /// Reads what is there and answers if it is a whole request. False when the client is gone or talks nonsense.
    bool serve(const matrix_model& model, std::string& out) {
        if (size_ == in_.size()) in_.resize(2 * size_);
        const ssize_t n = read(descriptor_, in_.data() + size_, in_.size() - size_);
        if (n <= 0) return n < 0 && errno == EAGAIN;
        size_ += static_cast<size_t>(n);
        auto* const head_end = static_cast<char*>(memmem(in_.data(), size_, "\r\n\r\n", 4));
        if (head_end == nullptr) return true;
        *head_end = '\0';
        const size_t body = number_of(in_.data(), "\r\nContent-Length:");
        const size_t json = number_of(in_.data(), "\r\nInference-Header-Content-Length:");
        *head_end = '\r';
        const auto head = static_cast<size_t>(head_end - in_.data()) + 4;
        if (size_ < head + body) return true;
        if (body < json + model.row_bytes()) return false;
        size_ = 0;
        out.clear();
        model.answer(std::span(in_).subspan(head + json, body - json), out);
        return send_all(out);
    }

private:
    bool send_all(const std::string& out) const {
        for (size_t sent = 0; sent < out.size();) {
            const ssize_t n = write(descriptor_, out.data() + sent, out.size() - sent);
            if (n < 0 && errno != EAGAIN) return false;
            if (n > 0) sent += static_cast<size_t>(n);
        }
        return true;
    }

    const int descriptor_;
    std::vector<char> in_;
    size_t size_ = 0;
};

int listen_on(std::uint16_t port) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1024) != 0)
        give_up("listen", std::strerror(errno));
    return listener;
}

void watch(int epoll, int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

[[noreturn]] void serve(const matrix_model& model, std::uint16_t port) {
    const int listener = listen_on(port);
    const int epoll = epoll_create1(0);
    watch(epoll, listener);
    std::unordered_map<int, connection> connections;
    std::string out;
    const auto accept_all = [&] {
        const int yes = 1;
        for (int made; (made = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            watch(epoll, made);
            connections.try_emplace(made, made);
        }
    };
    for (;;) {
        std::array<epoll_event, 256> events;
        const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; ++i) {
            const int ready = events[static_cast<size_t>(i)].data.fd;
            if (ready == listener)
                accept_all();
            else if (const auto found = connections.find(ready); !found->second.serve(model, out))
                connections.erase(found);
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: floor LIBONNXRUNTIME MODEL.onnx PORT INPUT COLUMNS OUTPUT\n");
        return 2;
    }
    const matrix_model model(arguments[1], arguments[2], arguments[4], std::atoll(arguments[5]), arguments[6]);
    serve(model, static_cast<std::uint16_t>(std::atoi(arguments[3])));
}
