// Every operation a list can hold. Each has its own file under graph/ops: shapes, kernel call, backward rule.
// Letters: B sequences, T positions, C channels, H heads, V vocabulary, N = B T rows.
#pragma once
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

// tokens [B, T+1] i32, wte [V, C], wpe [>=T, C] -> x [N, C]
OpPointer embedding();
// x [N, C], gain [C], bias [C] -> y [N, C], mean [N], rstd [N]
OpPointer layernorm();
// x [N, I], w [I, O] (or [O, I] transposed), bias [O]?, addend [N, O]? -> y [N, O]
struct Linear {
  bool transposed = false, bias = true, addend = false;
};
OpPointer linear(Linear options);
// qkv [N, 3C] -> out [N, C], lse [B H, T]
OpPointer attention(int64_t B, int64_t T, int64_t H, DropoutSite dropout = {});
OpPointer gelu();
// x -> x masked; x, addend -> addend + x masked
OpPointer dropout(DropoutSite site, bool addend);
OpPointer add();

// logits [n, V], tokens [B, T+1], weights [N]? -> losses [n], dlogits [n, V] (takes the place of logits).
// Weights scale the gradients; the losses are those of the rows as they are.
OpPointer cross_entropy(int64_t first_row, float scale, bool gradient, bool weighted = false);
// losses [N], weights [N]? -> loss [1]: sum times scale, added up over micro-batches; with weights also the
// sum without them [1]
OpPointer loss_sum(float scale, bool weighted = false);

// gradients... -> partial sums of squares; then the clip's factor and the norm
OpPointer sum_squares();
OpPointer clip(float limit);  // partials [p] -> factor and norm [2]
struct AdamWOptions {
  float beta1 = .9f, beta2 = .999f, epsilon = 1e-8f, weight_decay = 0;
};
// gradient [n], factor [2]? -> parameter, m, v (updated in place)
OpPointer adamw(AdamWOptions options, bool clipped);

// Generation: one token at Moment::position.
OpPointer embedding_at();                          // token [1] i32, wte, wpe -> x [1, C]
OpPointer attention_cached(int64_t T, int64_t H);  // qkv [1, 3C] -> out [1, C], keys [T, C], values [T, C]

}  // namespace plimsoll::ops
