// Products of operands rounded to bf16: the processor's against the reference, and whether parts change bits.
#include "kernels/gemm/bf16.hpp"

#include "kernels/fast.hpp"

namespace plimsoll::kernels {
namespace {

constexpr int64_t sizes[][3] = {{1, 40, 33},    {2, 1, 1},       {33, 65, 40},   {14, 32, 16},
                                {15, 31, 17},   {64, 40, 10},    {5, 3, 800},    {97, 300, 65},
                                {29, 513, 391}, {130, 300, 200}, {200, 210, 385}};

class Bf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!fast) GTEST_SKIP() << "this processor has no AVX512-BF16";
  }
  const GemmFunction fast = fast_bf16();
  std::vector<float> scratch = std::vector<float>(gemm_scratch_floats);
};

TEST_F(Bf16, EveryLayoutAndEdgeAsTheReference) {
  for (auto [m, n, k] : sizes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (int extras = 0; extras < 4; ++extras) {
          const auto a = noise(m * k, 1), b = noise(k * n, 2), bias = noise(n, 3), addend = noise(m * n, 4);
          auto c = noise(m * n, 5), d = c;
          Gemm g{
              .m = m, .n = n, .k = k, .a = a.data(), .a_row = ta ? 1 : k, .a_col = ta ? m : 1, .b = b.data()};
          g.b_row = tb ? 1 : n, g.b_col = tb ? k : 1;
          g.c = c.data(), g.c_row = n;
          g.bias = extras & 1 ? bias.data() : nullptr;
          g.addend = extras & 2 ? addend.data() : nullptr, g.addend_row = n;
          g.accumulate = extras == 3;
          fast(g, scratch.data());
          g.c = d.data();
          reference::bf16_product(g, nullptr);
          EXPECT_LT(difference(c, d), 3e-6) << m << "x" << n << "x" << k << " " << ta << tb << extras;
        }
}

TEST_F(Bf16, PartsOfAProductHaveItsBits) {
  const int64_t m = 61, n = 150, k = 391;
  const auto a = noise(m * k, 1), b = noise(k * n, 2);
  std::vector<float> whole(size_t(m * n)), parts(size_t(m * n));
  Gemm g{.m = m, .n = n, .k = k, .a = a.data(), .a_row = k, .b = b.data(), .b_row = n};
  g.c = whole.data(), g.c_row = n;
  fast(g, scratch.data());
  for (const auto& [i, rows] : {std::pair{0, 28}, {28, 2}, {30, 31}})
    for (const auto& [j, columns] : {std::pair{0, 32}, {32, 64}, {96, 54}}) {
      Gemm part = g;
      part.m = rows, part.n = columns;
      part.a += i * k, part.b = b.data() + j, part.c = parts.data() + i * n + j;
      fast(part, scratch.data());
    }
  EXPECT_EQ(whole, parts);
}

// What is rounded is told apart from what is not: f32 products would pass a bound that is wide enough for bf16.
TEST_F(Bf16, OperandsAreRounded) {
  const float third = 1.f / 3;
  const std::vector<float> a = {third, third}, b = {1.f};
  std::vector<float> c(2);
  Gemm g{.m = 2,
         .n = 1,
         .k = 1,
         .a = a.data(),
         .a_row = 1,
         .b = b.data(),
         .b_row = 1,
         .c = c.data(),
         .c_row = 1};
  fast(g, scratch.data());
  EXPECT_EQ(c[0], 0.333984375f);
}

}  // namespace
}  // namespace plimsoll::kernels
