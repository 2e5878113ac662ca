// Every fast kernel of every instruction set that this machine supports, compared with the reference at odd
// sizes.
#include "kernels/fast.hpp"

#include <bit>

#include "tensor/half.hpp"

namespace plimsoll::kernels {
namespace {

TEST_P(Fast, GemmEveryLayoutAndEdge) {
  std::vector<float> scratch(gemm_scratch_floats);
  const int64_t sizes[][3] = {{1, 1, 1},      {1, 40, 33},     {33, 65, 40},   {14, 32, 16},
                              {15, 31, 17},   {64, 40, 10},    {5, 3, 800},    {97, 300, 65},
                              {29, 513, 391}, {130, 300, 200}, {700, 210, 200}};
  for (auto [m, n, k] : sizes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (int extras = 0; extras < 4; ++extras) {
          auto a = noise(m * k, 1), b = noise(k * n, 2), bias = noise(n, 3), addend = noise(m * n, 4),
               c = noise(m * n, 5), d = c;
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
                 .bias = extras & 1 ? bias.data() : nullptr,
                 .addend = extras & 2 ? addend.data() : nullptr,
                 .addend_row = n,
                 .accumulate = extras == 3};
          fast.gemm(g, scratch.data());
          g.c = d.data();
          plain.gemm(g, nullptr);
          EXPECT_LT(difference(c, d), 3e-6) << m << "x" << n << "x" << k << " " << ta << tb << extras;
        }
}

// A weight stored in half precision gives the bits of the product with the same weight widened first.
TEST_P(Fast, GemmWidensItsWeightBitForBit) {
  std::vector<float> scratch(gemm_scratch_floats);
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 40, 33},  {1, 300, 391},  {3, 31, 17},
                              {33, 65, 40}, {64, 40, 10}, {29, 513, 391}, {97, 300, 65}};
  for (auto [m, n, k] : sizes)
    for (bool tb : {false, true})
      for (DType dtype : {DType::bf16, DType::f16})
        for (int extras : {0, 3}) {
          const auto a = noise(m * k, 1), b = noise(k * n, 2), bias = noise(n, 3), addend = noise(m * n, 4);
          std::vector<uint16_t> half(b.size());
          std::vector<float> wide(b.size()), c = noise(m * n, 5), d = c;
          for (size_t i = 0; i < b.size(); ++i) {
            narrow(b[i], half.data(), dtype, int64_t(i));
            wide[i] = widened(half.data(), dtype, int64_t(i));
          }
          Gemm g{.m = m,
                 .n = n,
                 .k = k,
                 .a = a.data(),
                 .a_row = k,
                 .b = half.data(),
                 .b_type = dtype,
                 .b_row = tb ? 1 : n,
                 .b_col = tb ? k : 1,
                 .c = c.data(),
                 .c_row = n,
                 .bias = extras ? bias.data() : nullptr,
                 .addend = extras ? addend.data() : nullptr,
                 .addend_row = n,
                 .accumulate = extras == 3};
          fast.gemm(g, scratch.data());
          g.b = wide.data();
          g.b_type = DType::f32;
          g.c = d.data();
          fast.gemm(g, scratch.data());
          EXPECT_EQ(c, d) << m << "x" << n << "x" << k << " " << tb << " " << name_of(dtype);
        }
}

TEST_P(Fast, WidensEveryHalfPrecisionNumber) {
  std::vector<uint16_t> all(65536 + 3);
  for (size_t i = 0; i < all.size(); ++i) all[i] = uint16_t(i);
  for (DType dtype : {DType::bf16, DType::f16}) {
    std::vector<float> y(all.size());
    fast.widen({int64_t(all.size()), all.data(), dtype, y.data()});
    for (size_t i = 0; i < all.size(); ++i) {
      const float expected = widened(all.data(), dtype, int64_t(i));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(y[i])) << name_of(dtype) << i;
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected)) << name_of(dtype) << i;
    }
  }
}

TEST_P(Fast, LayerNormBothWays) {
  for (int64_t width : {1, 5, 40, 128, 130}) {
    const int64_t rows = 7;
    auto x = noise(rows * width, 1, 3), gain = noise(width, 2), bias = noise(width, 3),
         dy = noise(rows * width, 4), addend = noise(rows * width, 5);
    std::vector<float> y[2], mean[2], rstd[2], dx[2], partial[2];
    for (int i = 0; i < 2; ++i) {
      const Table& t = i ? plain : fast;
      y[i].resize(x.size()), dx[i].resize(x.size()), mean[i].resize(7), rstd[i].resize(7),
          partial[i].resize(size_t(2 * width));
      t.layernorm(
          {rows, width, x.data(), gain.data(), bias.data(), y[i].data(), mean[i].data(), rstd[i].data()});
      t.layernorm_backward({rows, width, dy.data(), x.data(), gain.data(), mean[1 - 1].data(), rstd[0].data(),
                            addend.data(), dx[i].data(), partial[i].data()});
    }
    EXPECT_LT(difference(y[0], y[1]), 2e-6) << width;
    std::vector<float> alone(x.size());  // gain and bias frozen: no sums for them, the same gradient of x
    fast.layernorm_backward({rows, width, dy.data(), x.data(), gain.data(), mean[0].data(), rstd[0].data(),
                             addend.data(), alone.data(), nullptr});
    if (width > 1) {
      // The compiler may contract the two loops differently, and does under a sanitizer.
      EXPECT_LT(difference(alone, dx[0]), 5e-6) << width;
      EXPECT_LT(difference(dx[0], dx[1]), 5e-6) << width;
      EXPECT_LT(difference(partial[0], partial[1]), 5e-6) << width;
    }
  }
}

TEST_P(Fast, RmsNormBothWays) {
  for (int64_t width : {1, 5, 40, 128, 130}) {
    const int64_t rows = 7;
    auto x = noise(rows * width, 1, 3), gain = noise(width, 2), dy = noise(rows * width, 4),
         addend = noise(rows * width, 5);
    std::vector<float> y[2], rstd[2], dx[2], partial[2];
    for (int i = 0; i < 2; ++i) {
      const Table& t = i ? plain : fast;
      y[i].resize(x.size()), dx[i].resize(x.size()), rstd[i].resize(7), partial[i].resize(size_t(width));
      t.rmsnorm({rows, width, x.data(), gain.data(), y[i].data(), rstd[i].data(), 1e-6f});
      t.rmsnorm_backward({rows, width, dy.data(), x.data(), gain.data(), rstd[0].data(), addend.data(),
                          dx[i].data(), partial[i].data()});
    }
    EXPECT_LT(difference(y[0], y[1]), 2e-6) << width;
    EXPECT_LT(difference(rstd[0], rstd[1]), 2e-6) << width;
    EXPECT_LT(difference(dx[0], dx[1]), 5e-6) << width;
    EXPECT_LT(difference(partial[0], partial[1]), 5e-6) << width;
    std::vector<float> alone(x.size());  // a frozen gain: no sums for it, the same gradient of x
    fast.rmsnorm_backward({rows, width, dy.data(), x.data(), gain.data(), rstd[0].data(), addend.data(),
                           alone.data(), nullptr});
    EXPECT_EQ(alone, dx[0]) << width;
  }
}

TEST_P(Fast, RotaryTurnsBothWaysAndBackAgain) {
  for (int64_t width : {2, 10, 32, 64, 128}) {
    const int64_t rows = 9, heads = 3, lines = 5, x_row = heads * width + 4;
    const auto x = noise(rows * x_row, 1);
    std::vector<float> angles(size_t(lines * width));
    for (int64_t l = 0; l < lines; ++l)
      for (int64_t i = 0; i < width / 2; ++i) {
        angles[size_t(l * width + i)] = std::cos(float(l) + 0.1f * float(i));
        angles[size_t(l * width + width / 2 + i)] = std::sin(float(l) + 0.1f * float(i));
      }
    std::vector<float> y[2], back(x);
    for (int i = 0; i < 2; ++i) {
      y[i] = x;
      (i ? plain : fast)
          .rotary({rows, heads, width, x.data(), x_row, angles.data(), 3, lines, y[i].data(), x_row, false});
    }
    EXPECT_LT(difference(y[0], y[1]), 1e-6) << width;
    EXPECT_GT(difference(y[0], x), 1e-2) << width;
    fast.rotary({rows, heads, width, y[0].data(), x_row, angles.data(), 3, lines, back.data(), x_row, true});
    EXPECT_LT(difference(back, x), 1e-6) << width;
  }
}

TEST_P(Fast, SwiGluBothWaysOverTheWholeRange) {
  std::vector<float> gate, y[2], dgate[2], dup[2];
  for (float v = -30; v < 30; v += 0.0137f) gate.push_back(v);
  gate.push_back(0), gate.push_back(-200), gate.push_back(200);
  const auto n = int64_t(gate.size());
  const auto up = noise(n, 1), dy = noise(n, 2);
  for (int i = 0; i < 2; ++i) {
    const Table& t = i ? plain : fast;
    y[i].resize(gate.size());
    dgate[i] = gate, dup[i] = up;  // in place
    t.swiglu({n, gate.data(), up.data(), y[i].data()});
    t.swiglu_backward({n, dgate[i].data(), dup[i].data(), dy.data(), dgate[i].data(), dup[i].data()});
  }
  EXPECT_LT(difference(y[0], y[1]), 1e-6);
  EXPECT_LT(difference(dgate[0], dgate[1]), 2e-6);
  EXPECT_LT(difference(dup[0], dup[1]), 1e-6);
}

TEST_P(Fast, GeluBothWaysOverTheWholeRange) {
  std::vector<float> x, y[2], dx[2], slope[2], product[2];
  for (float v = -30; v < 30; v += 0.0137f) x.push_back(v);
  x.push_back(0), x.push_back(-1e4f), x.push_back(1e4f);
  auto dy = noise(int64_t(x.size()), 1);
  for (int i = 0; i < 2; ++i) {
    const Table& t = i ? plain : fast;
    const int64_t count = int64_t(x.size()) - 2;
    y[i].resize(x.size()), dx[i].resize(x.size()), product[i].resize(x.size());
    t.gelu({count, x.data(), y[i].data()});
    t.gelu_backward({count, x.data(), dy.data(), dx[i].data()});
    // The derivative made along the way, in the place of x, is the same to the bit; so is the result beside it.
    slope[i] = x;
    std::vector<float> beside(x.size());
    t.gelu({count, slope[i].data(), beside.data(), slope[i].data()});
    EXPECT_EQ(beside, y[i]);
    t.multiply({count, slope[i].data(), dy.data(), product[i].data()});
    if (i == 0) {
      EXPECT_EQ(product[i], dx[i]);
    }
  }
  EXPECT_LT(difference(product[0], product[1]), 2e-6);
  EXPECT_LT(difference(y[0], y[1]), 1e-6);
  EXPECT_LT(difference(dx[0], dx[1]), 2e-6);
}

TEST_P(Fast, DropoutMasksAreTheReferenceBitForBit) {
  auto x = noise(1003, 1), addend = noise(1003, 2);
  std::vector<float> y[2];
  for (int i = 0; i < 2; ++i) {
    y[i].resize(x.size());
    (i ? plain : fast)
        .dropout({1003, 12345u, 0xfffffff0u, 0x33333333u, 1.25f, x.data(), i ? addend.data() : addend.data(),
                  y[i].data()});
  }
  size_t dropped = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[0][i], y[1][i], 1e-6);
    dropped += y[0][i] == addend[i];
  }
  EXPECT_NEAR(double(dropped) / 1003, 0.2, 0.05);
}

TEST_P(Fast, ColumnSumAddSumSquares) {
  for (int64_t columns : {1, 40, 129, 300}) {
    auto x = noise(37 * columns, 1), y0 = noise(columns, 2), y1 = y0;
    fast.column_sum({37, columns, columns, x.data(), y0.data(), true});
    plain.column_sum({37, columns, columns, x.data(), y1.data(), true});
    EXPECT_LT(difference(y0, y1), 3e-6);
  }
  auto a = noise(5000, 1);
  EXPECT_NEAR(fast.sum_squares({5000, a.data()}) / plain.sum_squares({5000, a.data()}), 1, 1e-6);
}

// Queries, keys and values with rows of their own, as columns of one value and as values of different widths.
TEST_P(Fast, AttentionBothWaysWithAndWithoutMasks) {
  for (int64_t length : {1, 31, 33, 64, 100, 280})
    for (int64_t width : length == 280 ? std::vector<int64_t>{40} : std::vector<int64_t>{10, 32, 40})
      for (bool causal : {true, false})
        for (bool drops : {false, true})
          for (bool adds : {false, true}) {
            const int64_t q_row = 3 * width + 3, k_row = width + 5, v_row = 2 * width, out_row = width + 1;
            const auto q = noise(length * q_row, 1), k = noise(length * k_row, 2),
                       v = noise(length * v_row, 3), dout = noise(length * out_row, 4);
            const AttentionDropout dropout =
                drops ? AttentionDropout{7, 11, 0x40000000u, 4.f / 3} : AttentionDropout{};
            std::vector<float> out[2], lse[2], dq[2], dk[2], dv[2],
                scratch(attention_scratch_floats(length, width));
            for (int i = 0; i < 2; ++i) {
              const Table& t = i ? plain : fast;
              out[i].resize(dout.size()), lse[i].resize(size_t(length));
              dq[i] = noise(length * q_row, 5), dk[i] = noise(length * k_row, 6),
              dv[i] = noise(length * v_row, 7);
              t.attention({length, width, causal, q.data(), q_row, k.data(), v.data(), k_row, v_row,
                           out[i].data(), out_row, lse[i].data(), dropout},
                          scratch.data());
              t.attention_backward(
                  {length, width,        causal,        q.data(),    q_row,   k.data(),      v.data(),
                   k_row,  v_row,        out[0].data(), dout.data(), out_row, lse[0].data(), dq[i].data(),
                   q_row,  dk[i].data(), dv[i].data(),  k_row,       v_row,   adds,          dropout},
                  scratch.data());
            }
            const auto where = testing::Message() << length << " " << width << causal << drops << adds;
            EXPECT_LT(difference(out[0], out[1]), 3e-6) << where;
            EXPECT_LT(difference(lse[0], lse[1]), 3e-6) << where;
            EXPECT_LT(difference(dq[0], dq[1]), 1e-5) << where;
            EXPECT_LT(difference(dk[0], dk[1]), 1e-5) << where;
            EXPECT_LT(difference(dv[0], dv[1]), 1e-5) << where;
          }
}

// Samples of 40, 1, 59 and the rest share a sequence: each is as though it were alone.
TEST_P(Fast, AttentionOfPackedSamplesIsThatOfEachAlone) {
  constexpr int64_t length = 300, width = 24, row = width + 3;
  const std::vector<int64_t> samples = {40, 1, 59, 200};
  const auto q = noise(length * row, 1), k = noise(length * row, 2), v = noise(length * row, 3),
             dout = noise(length * row, 4);
  std::vector<int32_t> positions;
  for (int64_t sample : samples)
    for (int64_t t = 0; t < sample; ++t) positions.push_back(int32_t(t));
  std::vector<float> scratch(attention_scratch_floats(length, width));
  struct Result {
    std::vector<float> out = std::vector<float>(length * row), lse = std::vector<float>(length), dq = out,
                       dk = out, dv = out;
  };
  auto run = [&](const Table& t, Result& r, int64_t first, int64_t count, const int32_t* places) {
    const int64_t at = first * row;
    t.attention({count,
                 width,
                 true,
                 q.data() + at,
                 row,
                 k.data() + at,
                 v.data() + at,
                 row,
                 row,
                 r.out.data() + at,
                 row,
                 r.lse.data() + first,
                 {},
                 places},
                scratch.data());
    t.attention_backward({count,
                          width,
                          true,
                          q.data() + at,
                          row,
                          k.data() + at,
                          v.data() + at,
                          row,
                          row,
                          r.out.data() + at,
                          dout.data() + at,
                          row,
                          r.lse.data() + first,
                          r.dq.data() + at,
                          row,
                          r.dk.data() + at,
                          r.dv.data() + at,
                          row,
                          row,
                          false,
                          {},
                          places},
                         scratch.data());
  };
  for (const Table* table : {&fast, &plain}) {
    Result packed, alone;
    run(*table, packed, 0, length, positions.data());
    int64_t first = 0;
    for (int64_t sample : samples) run(plain, alone, first, sample, nullptr), first += sample;
    EXPECT_LT(difference(packed.out, alone.out), 3e-6);
    EXPECT_LT(difference(packed.lse, alone.lse), 3e-6);
    EXPECT_LT(difference(packed.dq, alone.dq), 1e-5);
    EXPECT_LT(difference(packed.dk, alone.dk), 1e-5);
    EXPECT_LT(difference(packed.dv, alone.dv), 1e-5);
  }
}

TEST_P(Fast, AttentionCachedIsTheLastRowOfAttention) {
  const int64_t length = 37, width = 40, k_row = 3 * width, v_row = width + 2;
  const auto q = noise(length * width, 1), k = noise(length * k_row, 2), v = noise(length * v_row, 3);
  std::vector<float> out(size_t(length * width)), lse(length),
      scratch(attention_scratch_floats(length, width)), last(width), scores(length);
  fast.attention({length,
                  width,
                  true,
                  q.data(),
                  width,
                  k.data(),
                  v.data(),
                  k_row,
                  v_row,
                  out.data(),
                  width,
                  lse.data(),
                  {}},
                 scratch.data());
  fast.attention_cached(
      {length, width, q.data() + 36 * width, k.data(), v.data(), k_row, v_row, last.data(), scores.data()});
  for (int64_t i = 0; i < width; ++i) EXPECT_NEAR(last[size_t(i)], out[size_t(36 * width + i)], 2e-6);
}

TEST_P(Fast, CrossEntropyLossAndGradient) {
  for (int64_t classes : {2, 35, 65, 200}) {
    auto x = noise(6 * classes, 1, 5), y = x;
    std::vector<int32_t> targets = {0, 1, 0, 1, 1, 0, 1, 1};  // 2 lines of 3 inputs + 1
    std::vector<float> loss[2] = {std::vector<float>(6), std::vector<float>(6)};
    fast.cross_entropy(
        {6, classes, classes, x.data(), targets.data() + 1, 0, 3, 4, loss[0].data(), 0.25f, true});
    plain.cross_entropy(
        {6, classes, classes, y.data(), targets.data() + 1, 0, 3, 4, loss[1].data(), 0.25f, true});
    EXPECT_LT(difference(x, y), 2e-6);
    EXPECT_LT(difference(loss[0], loss[1]), 2e-6);
  }
}

TEST_P(Fast, CrossEntropyWeighsTheGradientsOfRowsAndNotTheirLosses) {
  constexpr int64_t classes = 35;
  const auto logits = noise(4 * classes, 1, 5);
  std::vector<int32_t> targets = {0, 1, 0, 1, 1, 0, 1, 1};
  const std::vector<float> weights = {9, 9, 2, 0, .5f, 1};  // of all rows; these begin at row 2
  for (const Table* table : {&fast, &plain}) {
    auto x = logits, y = logits;
    std::vector<float> loss[2] = {std::vector<float>(4), std::vector<float>(4)};
    table->cross_entropy(
        {4, classes, classes, x.data(), targets.data() + 1, 2, 3, 4, loss[0].data(), 0.25f, true});
    table->cross_entropy({4, classes, classes, y.data(), targets.data() + 1, 2, 3, 4, loss[1].data(), 0.25f,
                          true, weights.data()});
    for (int64_t i = 0; i < 4 * classes; ++i) x[size_t(i)] *= weights[size_t(2 + i / classes)];
    EXPECT_LT(difference(x, y), 1e-6);
    EXPECT_EQ(loss[0], loss[1]);
  }
}

TEST_P(Fast, CrossEntropyLeavesOutTargetsBelowZero) {
  constexpr int64_t classes = 35;
  const auto logits = noise(3 * classes, 1, 5);
  const std::vector<int32_t> all = {4, 7, 34}, some = {4, -1, 34};
  for (const Table* table : {&fast, &plain}) {
    auto x = logits, y = logits;
    std::vector<float> loss[2] = {std::vector<float>(3), std::vector<float>(3, 9.f)};
    table->cross_entropy({3, classes, classes, x.data(), all.data(), 0, 3, 3, loss[0].data(), 0.5f, true});
    table->cross_entropy({3, classes, classes, y.data(), some.data(), 0, 3, 3, loss[1].data(), 0.5f, true});
    for (int64_t i = classes; i < 2 * classes; ++i) x[size_t(i)] = 0;
    loss[0][1] = 0;
    EXPECT_EQ(x, y);
    EXPECT_EQ(loss[0], loss[1]);
  }
}

TEST_P(Fast, CrossEntropyDoesNotHideNaN) {
  auto x = noise(35, 1);
  x[7] = NAN;
  std::vector<int32_t> targets = {0, 3};
  float loss = 0;
  fast.cross_entropy({1, 35, 35, x.data(), targets.data() + 1, 0, 1, 2, &loss, 1, false});
  EXPECT_TRUE(std::isnan(loss));
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Fast, every_fast_table(), table_name);

}  // namespace
}  // namespace plimsoll::kernels
