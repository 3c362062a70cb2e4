#pragma once

#include <doctest/doctest.h>

#include <asio_infer/backend.hpp>
#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backend/backend_table.hpp"
#include "core/executor.hpp"

namespace doctest {

/// A failed result is shown with its message.
template <class T>
struct StringMaker<boost::system::result<T, asio_infer::error>> {
    static String convert(const boost::system::result<T, asio_infer::error>& outcome) {
        return outcome ? "a value" : outcome.error().message.c_str();
    }
};

}  // namespace doctest

namespace asio_infer::testing {

/// Keeps the records as text: "message key=value key=value".
class collecting_log final : public log_sink {
public:
    bool enabled(log_level) const noexcept override { return true; }
    void write(log_level level, std::string_view message, std::initializer_list<log_field> fields) noexcept override {
        std::string text(message);
        for (const log_field& field : fields) {
            text += " " + std::string(field.first) + "=";
            if (const auto* words = std::get_if<std::string_view>(&field.second)) text += *words;
        }
        const std::lock_guard lock(mutex_);
        records_.emplace_back(level, std::move(text));
    }
    std::vector<std::pair<log_level, std::string>> records() const {
        const std::lock_guard lock(mutex_);
        return records_;
    }
    bool contains(std::string_view text) const {
        for (const auto& [level, record] : records())
            if (record.find(text) != record.npos) return true;
        return false;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::pair<log_level, std::string>> records_;
};

/// Keeps tasks until the test runs them on its own thread.
class manual_executor final : public task_executor {
public:
    void post(task& work) noexcept override { waiting_.push_back(&work); }
    bool here() const noexcept override { return true; }
    std::size_t waiting() const noexcept { return waiting_.size(); }
    void run_all() {
        while (!waiting_.empty()) {
            task* const next = waiting_.front();
            waiting_.pop_front();
            next->run();
        }
    }

private:
    std::deque<task*> waiting_;
};

/// Threads that run what is posted; the end waits for all of it.
class thread_executor final : public task_executor {
public:
    explicit thread_executor(unsigned threads = 1) {
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
    }
    ~thread_executor() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }
    void post(task& work) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(&work);
        }
        wake_.notify_one();
    }
    bool here() const noexcept override { return false; }

private:
    void loop() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            task* const next = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            next->run();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<task*> waiting_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

/// A job with the receiver that waits for it.
class waiting_job final : public run_receiver {
public:
    run_job job;

    waiting_job(std::vector<infer_call*> members, std::vector<std::uint32_t> outputs, bool run_inline) {
        job.members = std::move(members);
        job.rows = 0;
        for (const infer_call* call : job.members) job.rows += call->rows;
        job.outputs = std::move(outputs);
        job.run_inline = run_inline;
        job.receiver = this;
    }
    void on_run_done(run_job& done) noexcept override {
        if (&done == &job) done_.release();
    }
    result<std::vector<tensor>>& wait() {
        done_.acquire();
        return job.outcome;
    }
    bool is_done() { return done_.try_acquire(); }

private:
    std::binary_semaphore done_{0};
};

inline buffer to_buffer(std::span<const std::byte> bytes, std::size_t offset = 0) {
    unique_buffer memory(bytes.size() + offset);
    if (!bytes.empty()) std::memcpy(memory.data() + offset, bytes.data(), bytes.size());
    return std::move(memory).share().slice(offset, bytes.size());
}

/// A tensor of numbers. `offset` moves it off its alignment.
template <class T>
tensor numbers(dtype type, shape dims, const std::vector<T>& values, std::size_t offset = 0) {
    return {type, std::move(dims), to_buffer(std::as_bytes(std::span(values)), offset)};
}
inline tensor floats(shape dims, const std::vector<float>& values, std::size_t offset = 0) {
    return numbers(dtype::fp32, std::move(dims), values, offset);
}

inline std::string pack(const std::vector<std::string>& texts) {
    std::string packed;
    for (const std::string& text : texts) {
        const auto length = static_cast<std::uint32_t>(text.size());
        packed.append(reinterpret_cast<const char*>(&length), sizeof length);
        packed += text;
    }
    return packed;
}
inline tensor strings(shape dims, const std::vector<std::string>& texts) {
    const std::string packed = pack(texts);
    return {dtype::bytes, std::move(dims), to_buffer(std::as_bytes(std::span(packed)))};
}

template <class T>
std::vector<T> values_of(const tensor& t) {
    std::vector<T> values(t.data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), t.data.data(), values.size() * sizeof(T));
    return values;
}
inline std::string bytes_of(const tensor& t) {
    return std::string(reinterpret_cast<const char*>(t.data.data()), t.data.size());
}

/// A call that owns its tensors; one for each input of the model, in order. `left_out` stands for one that is not
/// given.
inline tensor left_out() { return {dtype::fp32, {-1}, {}}; }
inline std::unique_ptr<infer_call> make_call(std::vector<tensor> inputs, std::uint32_t rows = 1) {
    auto call = std::make_unique<infer_call>();
    for (tensor& input : inputs) call->request.inputs.push_back({"", std::move(input), {}});
    for (const named_tensor& input : call->request.inputs) {
        const bool absent = !input.value.shape.empty() && input.value.shape.front() == -1;
        call->inputs.push_back(absent ? nullptr : &input.value);
    }
    call->rows = rows;
    return call;
}

/// All outputs of one call of one row or more, run on the first instance and this thread.
inline result<std::vector<tensor>> run_alone(backend_model& model, std::vector<tensor> inputs,
                                             std::vector<std::uint32_t> outputs = {0}) {
    const auto call = make_call(std::move(inputs));
    waiting_job waiting({call.get()}, std::move(outputs), true);
    model.instance(0).async_run(waiting.job);
    return std::move(waiting.wait());
}

/// The error of a function that must throw one.
template <class Function>
error error_of(Function&& function) {
    try {
        function();
    } catch (const exception& failure) {
        return {failure.code(), failure.what()};
    }
    return {errc::internal, "(nothing was thrown)"};
}

inline bool mentions(const error& e, std::string_view text) { return e.message.find(text) != e.message.npos; }

/// ONNX Runtime and the test models, found through the environment.
struct onnx_fixture {
    collecting_log log;
    thread_executor workers{2};
    runtime_options runtime;
    backend_context context{runtime, workers, log};

    onnx_fixture() {
        const char* const library = std::getenv("ASIO_INFER_ORT_LIBRARY");
        const char* const folder = std::getenv("ASIO_INFER_TEST_MODELS");
        REQUIRE_MESSAGE(library != nullptr, "ASIO_INFER_ORT_LIBRARY is not set");
        REQUIRE_MESSAGE(folder != nullptr, "ASIO_INFER_TEST_MODELS is not set");
        REQUIRE_MESSAGE(*library != '\0', "ASIO_INFER_ORT_LIBRARY is empty: install onnxruntime");
        runtime.library_path = library;
        models = folder;
    }

    model_options options(const std::string& name) const {
        model_options o;
        o.name = name;
        o.path = models + "/" + name + ".onnx";
        return o;
    }
    std::unique_ptr<backend_model> load(const model_options& o) { return make_backend_model("onnx", o, context); }
    std::unique_ptr<backend_model> load(const std::string& name) { return load(options(name)); }
    error load_error(const model_options& o) {
        return error_of([&] { load(o); });
    }

    std::string models;
};

}  // namespace asio_infer::testing
