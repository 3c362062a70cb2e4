#include "fuzz/support/demand.hpp"

#include <cstdlib>
#include <iostream>

namespace asio_infer::fuzz {

void broken(const std::string& rule) noexcept {
    std::cerr << "\nBROKEN RULE: " << rule << std::endl;
    std::abort();
}

}  // namespace asio_infer::fuzz
