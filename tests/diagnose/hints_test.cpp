// What to try about a line that grows: from functions in its stacks and the text of its own, never without them.
#include "diagnose/hints.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "diagnose/source.hpp"

namespace plimsoll::diagnose {
namespace {

Place native(const char* function, const char* file = "/opt/lib/libtorch_cpu.so") {
  return {file, function, 0, false, true};
}
Place python(const char* file, const char* function = "f", unsigned line = 1, bool library = false) {
  return {file, function, line, true, library};
}

TEST(Content, IsToldByWhoAskedForTheMemory) {
  const Place operator_new = native("operator new(unsigned long)", "/usr/lib/libstdc++.so.6");
  const Place addmm =
      native("torch::autograd::VariableType::(anonymous namespace)::addmm(at::Tensor const&)");
  EXPECT_EQ(content_of({operator_new, addmm, python("/a/train.py")}), Content::autograd_node);
  EXPECT_EQ(
      content_of({operator_new, native("std::vector<torch::autograd::Edge>::reserve(unsigned long)"), addmm}),
      Content::autograd_node);
  // The tensor that the same function makes is none.
  EXPECT_EQ(
      content_of({native("c10::alloc_cpu(unsigned long)"), native("at::detail::empty_generic()"), addmm}),
      Content::plain);
  EXPECT_EQ(content_of({native("Xbyak::MmapAllocator::alloc(unsigned long)"),
                        native("dnnl::impl::primitive_cache_iface_t::get_or_create(key_t const&)"), addmm}),
            Content::kernel_cache);
  EXPECT_EQ(content_of({native("", "/usr/lib/libjpeg.so.62+0x1234"), python("/a/train.py")}),
            Content::decoded_image);
  EXPECT_EQ(
      content_of({native("malloc"), python("/x/site-packages/PIL/ImageFile.py", "ImageFile.load", 9, true)}),
      Content::decoded_image);
  // Names of the program's own do not count: a function called load that decodes nothing, a file called after a decoder.
  EXPECT_EQ(content_of({native("malloc"), python("/a/ImageFile.py", "load")}), Content::plain);
  EXPECT_EQ(content_of({native("malloc"), python("/a/libjpeg.py", "torch::autograd::addmm")}),
            Content::plain);
}

TEST(Worker, IsToldByTheFrameThatRunsIt) {
  EXPECT_EQ(
      worker_of({python("/a/data.py"),
                 python("/x/torch/utils/data/_utils/worker.py", "_worker_loop", 300, true),
                 python("/lib/python3.11/multiprocessing/process.py", "BaseProcess._bootstrap", 314, true)}),
      Worker::loader);
  EXPECT_EQ(
      worker_of({python("/lib/python3.11/multiprocessing/process.py", "BaseProcess._bootstrap", 314, true)}),
      Worker::other);
  EXPECT_EQ(worker_of({python("/a/worker.py", "_worker_loop")}), Worker::none);
}

class Hints : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("plimsoll-hints-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "train.py") << "import functools\n"
                                           "class Encoder:\n"
                                           "    @functools.lru_cache(maxsize=None)\n"
                                           "    def encode(self, key):\n"
                                           "        return make(key)\n"
                                           "    @functools.lru_cache(maxsize=100)\n"
                                           "    def bounded(self, key):\n"
                                           "        return make(key)\n"
                                           "def watch(net):\n"
                                           "    x = make(1)\n"
                                           "    handles.append(net.register_forward_hook(lambda *_: x))\n"
                                           "def tidy(net):\n"
                                           "    x = make(1)\n"
                                           "    handle = net.register_forward_hook(lambda *_: x)\n"
                                           "    handle.remove()\n"
                                           "@cache.memoize(60)\n"
                                           "def page(key):\n"
                                           "    return make(key)\n"
                                           "@cache  # of results\n"
                                           "def plain(key):\n"
                                           "    return make(key)\n"
                                           "def endless(net):\n"
                                           "    return make(net.register_"
                                        << std::string(300'000, 'h') << ")\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Site at(const char* function, unsigned line) const {
    Site site;
    site.place = python((folder_ / "train.py").c_str(), function, line);
    site.stack = {native("malloc"), python("/x/site-packages/lib.py", "make", 3, true), site.place};
    site.bytes = 50 << 20;
    site.pids = {1};
    site.source = source_line(site.place.file, line);
    return site;
  }
  static bool says(const Site& site, const char* words) {
    return hint_for(site, 512 << 10).find(words) != std::string::npos;
  }

  std::filesystem::path folder_;
};

TEST_F(Hints, UnboundedCachesAndHooks) {
  EXPECT_TRUE(says(at("Encoder.encode", 5), "cache of Encoder.encode"));
  EXPECT_TRUE(says(at("Encoder.encode", 5), "every object it was called on"));
  EXPECT_EQ(hint_for(at("Encoder.bounded", 8), 1), "");
  EXPECT_TRUE(says(at("watch", 10), "hook that line 11 registers"));
  EXPECT_EQ(hint_for(at("tidy", 13), 1), "");
  EXPECT_EQ(hint_for(at("page", 18), 1), "");  // another library's, with a bound of its own
  EXPECT_TRUE(says(at("plain", 21), "cache of plain"));
  EXPECT_EQ(hint_for(at("endless", 23), 1), "");  // a long line costs time in proportion and no stack
}

TEST_F(Hints, GraphsNeedMoreThanOneSample) {
  Site site = at("tidy", 13);
  site.graph_bytes = 3 << 20;
  EXPECT_TRUE(says(site, "nodes of the autograd graph"));
  site.graph_bytes = 600 << 10;
  EXPECT_EQ(hint_for(site, 512 << 10), "");
}

TEST_F(Hints, ProcessesAreNamedBesideTheCause) {
  Site site = at("Encoder.encode", 5);
  site.worker = Worker::loader;
  site.pids = {1, 2};
  EXPECT_TRUE(says(site, "cache of")) << hint_for(site, 1);
  EXPECT_TRUE(says(site, "2 workers of a DataLoader")) << hint_for(site, 1);
  site.grows_by_processes = true;
  EXPECT_TRUE(says(site, "make the workers once")) << hint_for(site, 1);
}

TEST_F(Hints, AFileThatIsGoneSaysNothing) {
  Site site = at("Encoder.encode", 5);
  site.place.file = site.stack.back().file = "/nonexistent/train.py";
  EXPECT_EQ(hint_for(site, 1), "");
  EXPECT_TRUE(python_function((folder_ / "train.py").string(), 500, "nothing").head.empty());
}

}  // namespace
}  // namespace plimsoll::diagnose
