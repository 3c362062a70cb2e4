#include "scheduler/batch_key.hpp"

#include <algorithm>

namespace asio_infer {

namespace {

bool same_rows(const tensor* a, const tensor* b) noexcept {
    if (a == nullptr || b == nullptr) return a == b;
    return a->type == b->type && a->shape.size() == b->shape.size() && !a->shape.empty() &&
           std::equal(a->shape.begin() + 1, a->shape.end(), b->shape.begin() + 1);
}

const parameter_list* parameters_of(const infer_request& request, const std::string& input) noexcept {
    for (const named_tensor& each : request.inputs)
        if (each.name == input) return &each.parameters;
    return nullptr;
}

bool same_input_parameters(const infer_request& a, const infer_request& b) noexcept {
    return std::all_of(a.inputs.begin(), a.inputs.end(), [&](const named_tensor& input) {
        const parameter_list* other = parameters_of(b, input.name);
        return other != nullptr && *other == input.parameters;
    });
}

}  // namespace

bool may_share_run(const infer_call& a, const infer_call& b) noexcept {
    return a.rows > 0 && b.rows > 0 && !a.runs_alone && !b.runs_alone && a.inputs.size() == b.inputs.size() &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), same_rows) &&
           a.request.parameters == b.request.parameters && same_input_parameters(a.request, b.request);
}

}  // namespace asio_infer
