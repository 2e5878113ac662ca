#include "kernels/gemm/backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/table.hpp"

namespace plimsoll::kernels {
namespace {

TEST(Backend, EveryBackendThatOpensAgreesWithPlainLoops) {
  const CounterRng rng(1, Stream::weights);
  for (const std::string& name : backend_names()) {
    const Backend backend = open_backend(name);
    std::vector<float> scratch(gemm_scratch_floats);
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (bool extras : {false, true}) {
          const int64_t m = 33, n = 65, k = 40;
          std::vector<float> a(m * k), b(k * n), bias(n), addend(m * n), c(m * n), d;
          uint64_t i = 0;
          for (auto* v : {&a, &b, &bias, &addend, &c})
            for (float& x : *v) x = float(rng.normal(i++));
          d = c;
          Gemm g{.m = m,
                 .n = n,
                 .k = k,
                 .a = a.data(),
                 .a_row = ta ? 1 : k,
                 .a_col = ta ? m : 1,
                 .b = b.data(),
                 .b_row = tb ? 1 : n,
                 .b_col = tb ? k : 1,
                 .c = c.data(),
                 .c_row = n,
                 .bias = extras ? bias.data() : nullptr,
                 .addend = extras ? addend.data() : nullptr,
                 .addend_row = n,
                 .accumulate = extras};
          backend.run(g, scratch.data());
          g.c = d.data();
          reference_table.gemm(g, nullptr);
          for (size_t e = 0; e < c.size(); ++e) ASSERT_NEAR(c[e], d[e], 1e-4) << name << ta << tb << extras;
        }
  }
}

TEST(Backend, UnknownNamesAreRefused) {
  EXPECT_THROW(open_backend("cuda"), InputError);
  EXPECT_EQ(open_backend("auto").name, "native");
}

}  // namespace
}  // namespace plimsoll::kernels
