#include "record/metrics_file.hpp"

#include <charconv>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll {

namespace {

// A line under construction: at most ten numbers of at most 24 characters each, so 512 are always enough.
class Line {
 public:
  explicit Line(const char* type) { put("{\"type\":\"").put(type).put("\""); }
  Line& integer(const char* key, int64_t value) noexcept {
    name(key);
    end_ = std::to_chars(end_, text_ + sizeof text_, value).ptr;
    return *this;
  }
  Line& real(const char* key, double value) noexcept {
    name(key);
    if (!std::isfinite(value)) return put("null");
    end_ = std::to_chars(end_, text_ + sizeof text_, value).ptr;
    return *this;
  }
  Line& close() noexcept { return put("}\n"); }
  const char* data() const noexcept { return text_; }
  size_t size() const noexcept { return static_cast<size_t>(end_ - text_); }

 private:
  Line& put(const char* words) noexcept {
    const size_t length = std::strlen(words);
    std::memcpy(end_, words, length);
    end_ += length;
    return *this;
  }
  void name(const char* key) noexcept { put(",\"").put(key).put("\":"); }
  char text_[512];
  char* end_ = text_;
};

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& path) {
  if (const int code = file_.open(path))
    fail_input("[metrics] cannot write {}: {}; give a file in a writable folder", path.string(),
               error_text(code));
  if (file_.last('\n') != '\n') append("\n", 1);
}

void MetricsFile::step(const StepRow& row) noexcept {
  Line line("step");
  line.integer("step", row.step).real("time", row.time).real("loss", row.loss).real("lr", row.learning_rate);
  line.real("tokens_per_second", row.tokens_per_second)
      .real("iterations_per_second", row.iterations_per_second);
  line.real("grad_norm", row.gradient_norm);
  if (std::isfinite(row.cross_entropy))
    line.real("cross_entropy", row.cross_entropy).real("distrust", row.distrust);
  if (std::isfinite(row.waited)) line.real("waited", row.waited);
  line.close();
  append(line.data(), line.size());
}

void MetricsFile::evaluation(const EvaluationRow& row) noexcept {
  Line line("evaluation");
  line.integer("step", row.step)
      .real("time", row.time)
      .real("loss", row.loss)
      .real("floor", row.floor)
      .close();
  append(line.data(), line.size());
}

void MetricsFile::append(const char* line, size_t length) noexcept {
  const int code = file_.append(line, length);
  error_[0] = 0;
  if (!code) return;
  const auto text =
      fmt::format_to_n(error_, sizeof error_ - 1, "[metrics] a line was lost: {}", error_text(code));
  *text.out = 0;
}

}  // namespace plimsoll
