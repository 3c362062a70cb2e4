#include <doctest/doctest.h>

#include <asio_infer/runtime_error.hpp>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "support/backend_fixture.hpp"
#include "support/temporary_folder.hpp"

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>
#endif

using namespace asio_infer;
using namespace asio_infer::testing;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

void write_file(const fs::path& path, std::string_view content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

model_options at(const fs::path& path) {
    model_options o;
    o.name = "m";
    o.path = path.string();
    return o;
}

class working_directory {
public:
    explicit working_directory(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
    ~working_directory() { fs::current_path(before_); }

private:
    fs::path before_;
};

}  // namespace

TEST_CASE_FIXTURE(onnx_fixture, "a model says what it takes and gives") {
    auto o = options("tiny");
    o.version = 7;
    o.instances = 2;
    const auto model = load(o);
    const model_spec& spec = model->spec();
    CHECK(spec.name == "tiny");
    CHECK(spec.version == 7);
    CHECK(spec.platform == "onnxruntime_onnx");
    CHECK(spec.backend == "onnxruntime");
    CHECK(spec.instances == 2);
    CHECK(model->instance_count() == 2);
    CHECK(spec.providers == std::vector<std::string>{"CPUExecutionProvider"});
    REQUIRE(spec.inputs.size() == 1);
    CHECK(spec.inputs[0].name == "x");
    CHECK(spec.inputs[0].type == dtype::fp32);
    CHECK(spec.inputs[0].shape == shape{-1, 16});
    REQUIRE(spec.inputs[0].symbols.size() == 2);
    CHECK_FALSE(spec.inputs[0].symbols[0].empty());
    CHECK(spec.inputs[0].symbols[1].empty());
    CHECK_FALSE(spec.inputs[0].optional);
    CHECK(spec.inputs[0].unsupported.empty());
    CHECK(spec.outputs.size() == 1);
}

TEST_CASE_FIXTURE(onnx_fixture, "scalars, defaults and optional types in the metadata") {
    const auto scalar = load("scalar");
    CHECK(scalar->spec().inputs[0].shape.empty());
    const auto any = load("any_rank");
    CHECK(any->spec().inputs[0].shape.empty());
    CHECK(any->spec().inputs[0].any_rank);

    const auto kopt = load("kopt");
    REQUIRE(kopt->spec().inputs.size() == 2);
    CHECK(kopt->spec().inputs[0].name == "X");
    CHECK_FALSE(kopt->spec().inputs[0].optional);
    CHECK(kopt->spec().inputs[1].name == "K");
    CHECK(kopt->spec().inputs[1].optional);

    const auto opt = load("opt");
    REQUIRE(opt->spec().inputs.size() == 1);
    CHECK(opt->spec().inputs[0].optional);
    CHECK(opt->spec().inputs[0].type == dtype::fp32);
    CHECK(opt->spec().inputs[0].unsupported.empty());
}

TEST_CASE_FIXTURE(onnx_fixture, "outputs that cannot travel are described and never computed") {
    const auto zip = load("zip");
    CHECK(zip->spec().outputs[0].unsupported == "sequence(map(int64,tensor(float)))");
    const auto seq = load("seq");
    CHECK(seq->spec().outputs[0].unsupported == "sequence(tensor(float))");
    const auto refused = run_alone(*seq, {floats({3, 2}, {1, 2, 3, 4, 5, 6})});
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::invalid_request);
    CHECK(mentions(refused.error(), "sequence(tensor(float))"));

    const auto both = load("zip_label");
    std::uint32_t label = 0;
    while (!both->spec().outputs.at(label).unsupported.empty()) ++label;
    const auto labels = run_alone(*both, {floats({2, 3}, {1, 0, 0, 0, 1, 0})}, {label});
    REQUIRE(labels);
    CHECK(values_of<std::int64_t>(labels->front()) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE_FIXTURE(onnx_fixture, "an input that must be given and cannot travel is an error that names it") {
    for (const auto& [name, type] : {std::pair{"narrow_int4", "tensor(int4)"}, {"narrow_uint4", "tensor(uint4)"}}) {
        const error e = load_error(options(name));
        CHECK(e.code == errc::invalid_request);
        CHECK(mentions(e, "'X'"));
        CHECK(mentions(e, type));
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "files that are no model") {
    const temporary_folder folder;
    const auto error_at = [&](const fs::path& path) {
        const error e = load_error(at(path));
        CAPTURE(e.message);
        CHECK(mentions(e, path.string()));
        return e.code;
    };
    CHECK(error_at(folder.path() / "missing.onnx") == errc::invalid_request);
    CHECK(error_at(folder.path() / "missing" / "m.onnx") == errc::invalid_request);
    CHECK(error_at(folder.path()) == errc::invalid_request);

    const fs::path file = folder.path() / "m.onnx";
    write_file(file, "");
    CHECK(error_at(file) == errc::invalid_request);
    write_file(file, "0123456789");
    CHECK(error_at(file) == errc::model_error);
    write_file(file, "This is a text, not a model.\n");
    CHECK(error_at(file) == errc::model_error);
    const auto whole = read_bytes(models + "/cnn.onnx");
    write_file(file, {reinterpret_cast<const char*>(whole.data()), whole.size() / 2});
    CHECK(error_at(file) == errc::model_error);
    CHECK(error_at(models + "/refused/narrow_complex64.onnx") == errc::model_error);

    // Nothing of that harms the next model.
    CHECK(load("tiny")->instance_count() == 1);
}

#if !defined(_WIN32)
TEST_CASE_FIXTURE(onnx_fixture, "a FIFO is refused at once") {
    const temporary_folder folder;
    const fs::path path = folder.path() / "pipe.onnx";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    const error e = load_error(at(path));
    CHECK(e.code == errc::invalid_request);
    CHECK(mentions(e, "not a regular file"));
}

TEST_CASE_FIXTURE(onnx_fixture, "a file that may not be read") {
    if (geteuid() == 0) return;  // root may read everything
    const temporary_folder folder;
    const fs::path path = folder.path() / "secret.onnx";
    fs::copy_file(models + "/tiny.onnx", path);
    fs::permissions(path, fs::perms::none);
    const error e = load_error(at(path));
    CHECK(e.code == errc::invalid_request);
    CHECK(mentions(e, "cannot be read"));
}
#endif

TEST_CASE_FIXTURE(onnx_fixture, "models that the runtime does not know enough for") {
    const temporary_folder folder;
    // A model of one Identity node, as protobuf: ir_version, the graph, and the opset's version.
    const auto model_text = [](char ir, std::string_view op, std::string_view opset) {
        const auto field = [](char tag, std::string_view content) {
            return std::string(1, tag) + static_cast<char>(content.size()) + std::string(content);
        };
        const std::string type = field(0x0a, std::string("\x08\x01", 2) + field(0x12, field(0x0a, "\x08\x01")));
        const auto value = [&](std::string_view name) { return field(0x0a, name) + field(0x12, type); };
        const std::string node = field(0x0a, "X") + field(0x12, "Y") + field(0x22, op);
        const std::string graph =
            field(0x0a, node) + field(0x12, "g") + field(0x5a, value("X")) + field(0x62, value("Y"));
        return std::string("\x08") + ir + field(0x3a, graph) + field(0x42, "\x10" + std::string(opset));
    };
    const fs::path file = folder.path() / "m.onnx";
    write_file(file, model_text(8, "Identity", "\x11"));
    CHECK(run_alone(*load(at(file)), {floats({1}, {3})}));

    for (const std::string& text : {model_text(8, "Identity", "\xe7\x07"), model_text(8, "NoSuchOp", "\x11"),
                                    model_text(99, "Identity", "\x11")}) {
        write_file(file, text);
        const error e = load_error(at(file));
        CAPTURE(e.message);
        CHECK(e.code == errc::model_error);
        CHECK(mentions(e, file.string()));
        CHECK(e.message.size() > file.string().size() + 30);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "from bytes") {
    model_options o;
    o.name = "from_bytes";
    o.bytes = read_bytes(models + "/add.onnx");
    const auto model = load(o);
    const auto outputs = run_alone(*model, {floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {1, 1, 1, 1})});
    REQUIRE(outputs);
    CHECK(values_of<float>(outputs->front()) == std::vector<float>{2, 3, 4, 5});

    o.bytes.resize(20);
    const error broken = load_error(o);
    CHECK(broken.code == errc::model_error);
    CHECK(mentions(broken, "from_bytes"));
    o.bytes.clear();
    CHECK(load_error(o).code == errc::invalid_request);
}

TEST_CASE_FIXTURE(onnx_fixture, "weights beside the model are found from any working directory") {
    const temporary_folder folder;
    fs::copy_file(models + "/ext.onnx", folder.path() / "ext.onnx");
    fs::copy_file(models + "/w.bin", folder.path() / "w.bin");
    const auto last = [&](const fs::path& path) {
        const auto model = load(at(path));
        const auto outputs = run_alone(*model, {floats({1, 4096}, std::vector<float>(4096))});
        REQUIRE(outputs);
        return values_of<float>(outputs->front()).back();
    };
    CHECK(last(folder.path() / "ext.onnx") == 4095);
    {
        const working_directory elsewhere(fs::temp_directory_path());
        CHECK(last(folder.path() / "ext.onnx") == 4095);
    }
    const working_directory beside(folder.path());
    CHECK(last("ext.onnx") == 4095);

    fs::resize_file("w.bin", 100);
    CHECK(load_error(at("ext.onnx")).code == errc::model_error);
    fs::remove("w.bin");
    CHECK(load_error(at("ext.onnx")).code == errc::model_error);
}

TEST_CASE_FIXTURE(onnx_fixture, "a path with blanks and letters beyond ASCII") {
    const temporary_folder folder;
    const fs::path path = folder.path() / fs::path(u8"mit Leerzeichen é 模型.onnx");
    fs::copy_file(models + "/tiny.onnx", path);
    CHECK(load(at(path))->spec().inputs[0].name == "x");
}

TEST_CASE_FIXTURE(onnx_fixture, "options that cannot be") {
    auto o = options("tiny");
    o.instances = 0;
    CHECK(load_error(o).code == errc::invalid_request);
    const error unknown = error_of([&] { make_backend_model("tensorflow", options("tiny"), context); });
    CHECK(unknown.code == errc::invalid_request);
    CHECK(mentions(unknown, "tensorflow"));
    CHECK(mentions(unknown, "onnx, identity"));
}

TEST_CASE_FIXTURE(onnx_fixture, "without the runtime's library, what to install is said") {
    collecting_log sink;
    for (const std::string& path : {std::string(), std::string("/nowhere/libonnxruntime.so.1.99.0")}) {
        const runtime_options nowhere{.library_path = path};
        const backend_context without{nowhere, workers, sink};
        bool thrown = false;
        try {
            make_backend_model("onnx", options("tiny"), without);
        } catch (const runtime_unavailable& e) {
            thrown = true;
            CHECK(std::string(e.what()).find("pip install \"asio_infer[cpu]\"") != std::string::npos);
            CHECK(std::string(e.what()).find(path) != std::string::npos);
        }
        CHECK(thrown);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "a library that is none") {
    const runtime_options wrong{.library_path = models + "/tiny.onnx"};
    const backend_context context_with_wrong{wrong, workers, log};
    CHECK_THROWS_AS(make_backend_model("onnx", options("tiny"), context_with_wrong), const runtime_unavailable&);
}

TEST_CASE_FIXTURE(onnx_fixture, "models are loaded, run and dropped on several threads at once") {
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int round = 0; round < 10; ++round) {
                const auto model = load("add");
                const auto outputs = run_alone(*model, {floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {1, 1, 1, 1})});
                if (outputs && values_of<float>(outputs->front()) == std::vector<float>{2, 3, 4, 5}) ++right;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 30);
}
