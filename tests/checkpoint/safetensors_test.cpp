#include "checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "checkpoint/fixture.hpp"

namespace plimsoll {
namespace {

std::string file_of(const std::string& json, size_t data_bytes) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(uint64_t{json.size()} >> (8 * i));
  return file + json + std::string(data_bytes, '\1');
}

TEST(Safetensors, HeaderIsPaddedAndSurvivesTheRoundTrip) {
  Weights weights;
  std::string header = make_safetensors_header(Weights::views(weights.model()));
  EXPECT_EQ(header.size() % 8, 0u);
  SafetensorsHeader parsed =
      parse_safetensors_header(std::string_view(header).substr(8), (24 * 16 + 16 + 1) * 4);
  EXPECT_EQ(parsed.metadata.at("format"), "pt");
  ASSERT_EQ(parsed.tensors.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parsed.tensors[i].name, weights.model()[i].name);
    EXPECT_EQ(parsed.tensors[i].shape, weights.model()[i].shape);
    EXPECT_EQ(parsed.tensors[i].dtype, "F32");
  }
}

TEST(Safetensors, WritingRefusesNamesItCannotQuote) {
  for (const char* name : {"", "a b", "a\"b", "a\\b", "a\nb", "\xc3\xa4", "__metadata__"}) {
    TensorView tensor{name, {1}, nullptr};
    EXPECT_THROW(make_safetensors_header({&tensor, 1}), InputError) << name;
  }
  std::vector<TensorView> twice = {{"a", {1}, nullptr}, {"a", {1}, nullptr}};
  EXPECT_THROW(make_safetensors_header(twice), InputError);
  TensorView huge{"a", {1 << 30, 1 << 30, 1 << 30}, nullptr};
  EXPECT_THROW(make_safetensors_header({&huge, 1}), InputError);
}

TEST(Safetensors, SoundForeignHeadersAreAccepted) {
  EXPECT_EQ(parse_safetensors_header("{}", 0).tensors.size(), 0u);
  auto header = parse_safetensors_header(
      R"({"b":{"data_offsets":[4,8],"shape":[2],"dtype":"BF16"},"a":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},)"
      R"("c":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},"__metadata__":{"by":"x","\u00e4":""}}   )",
      8);
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[2].name, "b");
  EXPECT_EQ(header.metadata.size(), 2u);
}

// Each header is wrong in one way; the words must name that way.
TEST(Safetensors, HostileHeadersAreRefusedInOneLine) {
  auto tensor = [](const char* shape, const char* offsets, const char* dtype = "F32") {
    return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
  };
  auto one = [&](const char* shape, const char* offsets, const char* dtype = "F32") {
    return R"({"a":)" + tensor(shape, offsets, dtype) + "}";
  };
  std::string deep = R"({"a":)" + std::string(100'000, '[');
  struct Case {
    std::string json;
    const char* words;
  } cases[] = {
      {"", "does not begin"},
      {" {}", "does not begin"},
      {"[]", "does not begin"},
      {"null", "does not begin"},
      {"{", "not valid JSON"},
      {"{} {}", "not valid JSON"},
      {std::string("{}\0", 3), "not valid JSON"},
      {"{\"\xff\":1}", "not valid JSON"},
      {R"({"a":NaN})", "not valid JSON"},
      {R"({"a":1})", "a number"},
      {R"({"a":null})", "a null"},
      {R"({"a":[]})", "a list"},
      {R"({"a":"x"})", "a text"},
      {R"({"__metadata__":{"a":1}})", "a number"},
      {R"({"__metadata__":{"a":{}}})", "an object"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "occurs twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "occurs twice"},
      {deep, "a list"},
      {R"({"a":{"dtype":"F32","shape":[[[[1]]]],"data_offsets":[0,4]}})", "a list"},
      {R"({"a":{"a":{"a":{"a":{}}}}})", "unknown field"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "lacks"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "dtype twice"},
      {R"({"a":)" + tensor("[1]", "[0,4]") + R"(,"a":)" + tensor("[1]", "[4,8]") + "}", "occurs twice"},
      {one("[2]", "[0,8,8]"), "wrong place"},
      {one("[2]", "[8]"), "not two numbers"},
      {one("2", "[0,8]"), "a number"},
      {one("[2.0]", "[0,8]"), "fraction"},
      {one("[-2]", "[0,8]"), "negative"},
      {one("[1e1]", "[0,8]"), "fraction"},
      {one("[99999999999999999999999]", "[0,8]"), "too large"},
      {one("[18446744073709551615]", "[0,8]"), "too large"},
      {one("[4294967296,4294967296]", "[0,8]"), "overflows"},
      {one("[9223372036854775807]", "[0,8]"), "overflows"},
      {one("[4611686018427387905]", "[0,4]"), "overflows"},
      {one("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,8]"), "dimensions"},
      {one("[2]", "[0,8]", "F33"), "unknown dtype"},
      {one("[3]", "[0,8]"), "its shape needs 12"},
      {one("[2]", "[8,0]"), "lies at bytes 8 to 0"},
      {one("[4]", "[0,16]"), "lies at bytes 0 to 16 of 8"},
      {one("[2]", "[18446744073709551608,18446744073709551615]"), "lies at"},
      {one("[1]", "[4,8]"), "hole of 4"},
      {one("[1]", "[0,4]"), "last 4 bytes"},
      {"{}", "last 8 bytes"},
      {R"({"a":)" + tensor("[2]", "[0,8]") + R"(,"b":)" + tensor("[1]", "[4,8]") + "}", "overlaps"},
      {R"({"a":)" + tensor("[2]", "[0,8]") + R"(,"b":)" + tensor("[2]", "[0,8]") + "}", "overlaps"},
  };
  for (const Case& each : cases) {
    std::string words = refusal([&] { parse_safetensors_header(each.json, 8); });
    EXPECT_NE(words.find(each.words), std::string::npos) << each.json.substr(0, 100) << " gave: " << words;
    EXPECT_LT(words.size(), 300u);
  }
}

TEST(Safetensors, HostileLengthsAreRefusedBeforeAnythingIsRead) {
  TemporaryFolder folder;
  auto open = [&](const std::string& bytes) {
    write_durably(folder.path / "x.safetensors", bytes);
    return refusal([&] { SafetensorsFile file(folder.path / "x.safetensors"); });
  };
  EXPECT_NE(open("").find("0 bytes"), std::string::npos);
  EXPECT_NE(open("1234567").find("7 bytes"), std::string::npos);
  EXPECT_NE(open(std::string(8, '\xff')).find("claims 18446744073709551615 bytes"), std::string::npos);
  EXPECT_NE(open(std::string("\x09\0\0\0\0\0\0\0{}", 10)).find("claims 9 bytes"), std::string::npos);
  EXPECT_NE(open(file_of("{" + std::string(10'000'000, ' ') + "}", 0)).find("at most 8000000"),
            std::string::npos);
  EXPECT_EQ(open(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8)), "");
  EXPECT_NE(open(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7)).find("not a valid"),
            std::string::npos);
}

TEST(Safetensors, NamesInMessagesAreHarmless) {
  std::string words =
      refusal([] { parse_safetensors_header("{\"\\u001b[2J\\n" + std::string(5000, 'x') + "\":1}", 0); });
  EXPECT_NE(words.find("?[2J?xxx"), std::string::npos) << words;
  EXPECT_LT(words.size(), 200u);
}

TEST(Safetensors, AForeignFileIsLoadedByNameAndRefusedByTheFirstDifference) {
  TemporaryFolder folder;
  auto path = folder.path / "x.safetensors";
  write_durably(path, file_of(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}})",
                              12));
  float data[2] = {};
  auto load = [&](std::vector<TensorSlot> slots) { return refusal([&] { load_safetensors(path, slots); }); };
  EXPECT_NE(load({{"c", {1, 2}, data}}).find("another model: tensor 'c' is missing"), std::string::npos);
  EXPECT_NE(load({{"a", {2, 1}, data}}).find("has shape [1, 2], this model needs [2, 1]"), std::string::npos);
  EXPECT_NE(load({{"a", {1, 2}, data}}).find("this model has no tensor 'b'"), std::string::npos);
  EXPECT_NE(load({{"a", {1, 2}, data}, {"b", {2}, data}}).find("is F16, expected F32"), std::string::npos);
  EXPECT_EQ(data[0], 0) << "a slot was touched before the refusal";
  write_durably(path, file_of(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", 8));
  EXPECT_EQ(load({{"a", {1, 2}, data}}), "");
  EXPECT_NE(data[1], 0);
}

TEST(Safetensors, EveryDtypeSurvivesTheRoundTrip) {
  TemporaryFolder folder;
  const auto path = folder.path / "x.safetensors";
  const uint8_t bytes[24] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                             13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  std::vector<TensorView> views;
  std::string content;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8}) {
    views.push_back({name_of(dtype), {2, 3}, bytes, dtype});
    EXPECT_EQ(tensor_bytes(views.back().shape, dtype), 6 * size_of(dtype));
    content.append(reinterpret_cast<const char*>(bytes), 6 * size_of(dtype));
  }
  write_durably(path, make_safetensors_header(views) + content);
  SafetensorsFile file(path);
  ASSERT_EQ(file.header().tensors.size(), 5u);
  EXPECT_EQ(file.header().tensors[1].dtype, "BF16");
  EXPECT_EQ(file.header().tensors[2].dtype, "F16");
  EXPECT_EQ(file.header().tensors[4].bytes(), 6u);
  uint8_t read[5][25] = {};
  std::vector<TensorSlot> slots;
  for (size_t i = 0; i < 5; ++i) slots.push_back({views[i].name, {2, 3}, read[i], views[i].dtype});
  load_safetensors(path, slots);
  for (size_t i = 0; i < 5; ++i) {
    const size_t size = 6 * size_of(views[i].dtype);
    EXPECT_EQ(std::memcmp(read[i], bytes, size), 0) << views[i].name;
    EXPECT_EQ(read[i][size], 0) << views[i].name << ": more was written than the tensor has";
  }
  slots[1].dtype = DType::f16;
  EXPECT_NE(refusal([&] { load_safetensors(path, slots); }).find("'bf16' is BF16, expected F16"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll
