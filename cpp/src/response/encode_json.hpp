#pragma once

#include "core/response_encoder.hpp"

namespace asio_infer {

/// The Open Inference Protocol v2 over REST, with Triton's extensions: binary tensors,
/// configuration, statistics, classification.
class json_encoder final : public response_encoder {
public:
    /// `shared_memory`: whether that extension is offered.
    explicit json_encoder(bool shared_memory = false) noexcept : shared_memory_(shared_memory) {}

    void infer(const infer_call& call, response_message& out) const override;
    void failure(const error& e, response_message& out) const override;
    void server_metadata(response_message& out) const override;
    void live(response_message& out) const override;
    void ready(bool ready, response_message& out) const override;
    void model_ready(std::string_view name, bool ready, response_message& out) const override;
    void model_metadata(const served_model& model, std::span<const model_ptr> versions,
                        response_message& out) const override;
    void model_config(const served_model& model, response_message& out) const override;
    void statistics(std::span<const model_ptr> models, response_message& out) const override;
    void shared_memory_status(std::span<const shared_region> regions, response_message& out) const override;
    void done(response_message& out) const override;
    void welcome(std::span<const model_ptr> models, response_message& out) const override;

private:
    const bool shared_memory_;
};

}  // namespace asio_infer
