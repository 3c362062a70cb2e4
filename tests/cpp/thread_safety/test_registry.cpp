#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>

#include "models/registry.hpp"
#include "support/together.hpp"

using namespace asio_infer;
using asio_infer::testing::run_together;

namespace {

std::atomic<int> alive{0};

struct named_model final : served_model {
    named_model(std::string name, std::int64_t version) {
        spec_.name = std::move(name);
        spec_.version = version;
        alive.fetch_add(1);
    }
    ~named_model() override { alive.fetch_sub(1); }
    bool ready() const noexcept override { return true; }
    void submit(infer_call_ptr, task_executor*, bool) noexcept override {}
    void cancel(const call_receiver&) noexcept override {}
    void open() noexcept override {}
    void close(const error&, bool) noexcept override {}
};

}  // namespace

TEST_CASE("registry: models are added, replaced, removed and looked up by many threads") {
    constexpr int rounds = 2'000;
    registry models;
    std::atomic<int> added{0}, removed{0}, wrong{0};
    run_together(6, [&](std::size_t thread) {
        for (int i = 0; i < rounds; ++i) {
            const std::string name = "m" + std::to_string(i % 3);
            const std::int64_t version = i % 5 + 1;
            switch (thread) {
                case 0:
                case 1: {
                    const auto replaced = models.add(std::make_shared<named_model>(name, version), thread == 0);
                    if (!replaced.has_error() && *replaced == nullptr) added.fetch_add(1);
                    if (replaced.has_error() && (thread == 0 || replaced.error().code != errc::already_exists))
                        wrong.fetch_add(1);
                    if (!replaced.has_error() && *replaced != nullptr &&
                        ((*replaced)->spec().name != name || (*replaced)->spec().version != version))
                        wrong.fetch_add(1);
                    break;
                }
                case 2: {
                    const auto out = i % 7 == 0 ? models.remove(name, std::nullopt) : models.remove(name, version);
                    if (!out.has_error()) removed.fetch_add(static_cast<int>(out->size()));
                    break;
                }
                case 3:
                case 4: {
                    const auto found = thread == 3 ? models.find(name, std::nullopt) : models.find(name, version);
                    if (found.has_error() && found.error().code != errc::not_found) wrong.fetch_add(1);
                    if (!found.has_error() &&
                        ((*found)->spec().name != name || (thread == 4 && (*found)->spec().version != version)))
                        wrong.fetch_add(1);
                    break;
                }
                default: {
                    std::int64_t before = 0;
                    for (const model_ptr& each : models.versions(name)) {
                        if (each->spec().name != name || each->spec().version <= before) wrong.fetch_add(1);
                        before = each->spec().version;
                    }
                    models.set_ready(i % 2 == 0);
                    if (models.contains(name, 6)) wrong.fetch_add(1);
                    if (models.all().size() > 15) wrong.fetch_add(1);
                }
            }
        }
    });
    CHECK(wrong == 0);
    CHECK(static_cast<int>(models.all().size()) == added - removed);
    CHECK(alive == added - removed);
    for (const char* name : {"m0", "m1", "m2"}) static_cast<void>(models.remove(name, std::nullopt));
    CHECK(models.all().empty());
    CHECK(alive == 0);
}
