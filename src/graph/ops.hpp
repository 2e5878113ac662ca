// Every operation a list can hold. Each has its own file under graph/ops: shapes, kernel call, backward rule.
// Letters: B sequences, T positions, C channels, H heads, K heads of keys and values, D channels of a head, V vocabulary,
// N = B T rows.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "graph/op.hpp"

namespace plimsoll::ops {

using OpPointer = std::shared_ptr<const Op>;

struct DropoutSite {
  float rate = 0;
  uint32_t site = 0;  // tells apart the places in the model
  int64_t micro_rows =
      0;  // rows of a micro-batch: masks depend on the row within the step, not the micro-batch
};

// tokens [B, T+1] i32, wte [V, C], wpe [>=T, C]?, positions [B, T] i32? -> x [N, C]. A frozen table may be bf16 or f16.
// Positions say which row of wpe a token takes; without them it is its place in the sequence.
OpPointer embedding();
// x [N, C], gain [C], bias [C] -> y [N, C], mean [N], rstd [N]
OpPointer layernorm(float epsilon = 1e-5f);
// x [N, C], gain [D] -> y [N, C], rstd [N C / D]; D divides C, and each D elements of a row are normalized by themselves.
OpPointer rmsnorm(float epsilon);
// x [N, I], w [I, O] (or [O, I] transposed), bias [O]?, addend [N, O]? -> y [N, O]. A frozen w may be bf16 or f16.
struct Linear {
  bool transposed = false, bias = true, addend = false;
  bool in_place = false;  // y may take the place of addend
};
OpPointer linear(Linear options);
// q [N, H D], k [N, K D], v [N, K D], positions [B, T] i32? -> out [N, H D], lse [B H, T]. The first three may be columns of
// a wider value. With positions, row t sees keys t - positions[t] to t: samples that share a sequence do not see each other.
struct AttentionOptions {
  int64_t B, T, heads;
  int64_t kv_heads = 0;  // K, a divisor of H; 0: as many
  bool causal = true;
  DropoutSite dropout = {};
};
OpPointer attention(AttentionOptions options);
OpPointer gelu();
// gate [N, F], up [N, F] -> silu(gate) * up
OpPointer swiglu();
OpPointer scale(float factor);
// positions [B, T] i32? -> angles [rows, D], cosines then sines, D / 2 of each; without positions row t is at t.
OpPointer rotary_angles(int64_t rows, std::vector<float> frequencies);
// x [N, H D], angles [T, D] -> y [N, H D]: the two halves of each head turned; T divides N.
OpPointer rotary();
// x -> x masked; x, addend -> addend + x masked
OpPointer dropout(DropoutSite site, bool addend);
OpPointer add();

// pixels [S, tile tile 3] u8 -> x [S P, 3 patch patch]: P patches of every tile by rows, channel by channel, each byte as
// (byte rescale - mean) / deviation of its channel.
struct PatchOptions {
  int64_t tile, patch;
  double rescale = 1. / 255;
  std::array<float, 3> mean{}, deviation{1, 1, 1};
};
OpPointer patches(const PatchOptions& options);
// x [N, C], table [P, C] -> x + table, again and again; P divides N. A frozen table may be bf16 or f16.
OpPointer add_table();
// x [S side side, C] -> [S side side / factor^2, C factor^2]: squares of factor x factor neighbours become one row.
OpPointer join_patches(int64_t side, int64_t factor);
// x [N, C], tokens [B, T+1] i32, features [R, C] -> x with the features, one after the other, where inputs are `token`.
OpPointer place_rows(int32_t token);
// x [1, C], row [1] i32, features [R, C] -> that row of the features, or x where it is -1.
OpPointer place_row_at();

// logits [n, V], tokens [B, T+1] or targets [B, T], weights [N]? -> losses [n], dlogits [n, V] (takes the place of logits).
// A target of -1 does not count: its loss and its gradient are 0.
// Weights scale the gradients; the losses are those of the rows as they are.
struct CrossEntropyOptions {
  int64_t first_row;
  float scale;
  bool gradient;
  bool weighted = false;
  bool targets = false;  // input 1 is targets, not tokens
};
OpPointer cross_entropy(CrossEntropyOptions options);
// x [N, C], targets [B, T] i32 -> y [N, C]: the rows whose target counts, in order, then zeros; order [1 + N] i32: how many
// they are, and which; targets [1, N] i32: theirs, then -1.
OpPointer counted_rows();
// y [N] or [N, C], order -> x: the rows back at their places, zeros at the others.
OpPointer spread_rows();
// losses [N], weights [N]? -> loss [1]: sum times scale, added up over micro-batches; with weights also the
// sum without them [1]
OpPointer loss_sum(float scale, bool weighted = false);

// gradients... -> partial sums of squares; then the clip's factor and the norm
// Elements of a partial sum: fixed, so that the norm depends on neither threads nor ranks.
constexpr int64_t square_block = 1 << 16;
OpPointer sum_squares();
OpPointer clip(float limit);  // partials [p] -> factor and norm [2]
struct AdamWOptions {
  float beta1 = .9f, beta2 = .999f, epsilon = 1e-8f, weight_decay = 0;
  double rate = 1;         // of the learning rate of the step, for this parameter
  bool eight_bit = false;  // moments are u8 codes with a scale for each block (kernels/optimizer.hpp)
};
// gradient [n], factor [2]? -> parameter, m, v, and with eight bits the scales of m and of v (updated in place). Where they
// are a part of a parameter, it begins at element `first`, a multiple of the block of the scales.
OpPointer adamw(AdamWOptions options, bool clipped, int64_t first = 0);

// What the leaves of the loop hand on, added up along their tree, as far as they are of this list, into the copy of each
// node's first leaf: the first node after the loop, with the same values as inputs and outputs.
OpPointer reduce_lanes();

// Generation: one token at Moment::position.
OpPointer rotary_angles_at(std::vector<float> frequencies);  // -> angles [1, D]
OpPointer embedding_at();                                    // token [1] i32, wte, wpe? -> x [1, C]
// q [1, H D], k [1, K D], v [1, K D] -> out [1, H D], keys [T, K D], values [T, K D]
OpPointer attention_cached(int64_t T, int64_t heads, int64_t kv_heads = 0);

}  // namespace plimsoll::ops
