// The fixtures of the unit tests check with doctest. There are no test cases here: a check that fails ends the process.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "fuzz/support/demand.hpp"

namespace {

void abort_on(const doctest::AssertData& check) {
    if (check.m_failed) asio_infer::fuzz::broken(check.m_expr);
}

struct checks_outside_of_tests {
    checks_outside_of_tests() {
        context.setAsDefaultForAssertsOutOfTestCases();
        context.setAssertHandler(abort_on);
    }
    doctest::Context context;
};

const checks_outside_of_tests installed;

}  // namespace
