#pragma once

#include <atomic>
#include <filesystem>
#include <random>
#include <string>

namespace asio_infer::testing {

/// A new, empty folder; removed with its content at the end.
class temporary_folder {
public:
    temporary_folder() {
        static std::atomic<unsigned> count{0};
        static const unsigned process = std::random_device{}();
        path_ = std::filesystem::temp_directory_path() /
                ("asio_infer_test_" + std::to_string(process) + "_" + std::to_string(count++));
        std::filesystem::create_directories(path_);
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace asio_infer::testing
