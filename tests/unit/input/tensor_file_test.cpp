// Readers of untrusted files: right values from good ones, a sentence with the numbers from every
// broken one, and never a read outside the mapping.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "engine/input/element_rounding.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/tensor_source.h"
#include "tests/unit/input/npy_bytes.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

std::string safetensors(const std::string& json, const std::string& data) {
  return little_endian(json.size(), 8) + json + data;
}

/// Activations [tokens, 16] from a file.
RunRequest request_for(const std::string& path, std::int64_t tokens,
                       const std::string& tensor = "") {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 2, .rows = tokens, .n = 16, .k = 16};
  request.activations = FileInput{.path = path, .tensor = tensor};
  request.weights = request.activations;
  return request;
}

std::vector<float> first_row(const TensorSource& source) {
  std::vector<float> row(static_cast<std::size_t>(source.columns()));
  source.read_f32(0, 1, row);
  return row;
}

const std::string kRow32 = raw<float>({1.5F, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});

TEST(Npy, ReadsEveryVersionAndType) {
  for (int version = 1; version <= 3; ++version) {
    const TemporaryFile file("v.npy", npy(npy_header("<f4", "(1, 16)"), kRow32, version));
    const auto source = open_source(request_for(file.path(), 1), OperandRole::Activations, 0);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_EQ(source.value()->element(), ElementType::Fp32);
    EXPECT_THAT(first_row(*source.value()),
                ElementsAre(1.5F, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  }
  const std::string halves =
      raw<std::uint16_t>({0x3E00, 0xC000, 0, 0x7C00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3C00});
  const TemporaryFile half("h.npy", npy(npy_header("<f2", "(1, 16)"), halves));
  const auto fp16 = open_source(request_for(half.path(), 1), OperandRole::Activations, 0);
  ASSERT_TRUE(fp16.ok());
  EXPECT_EQ(fp16.value()->element(), ElementType::Fp16);
  EXPECT_EQ(first_row(*fp16.value())[0], 1.5F);
  EXPECT_EQ(first_row(*fp16.value())[4], 0x1p-24F);

  // As uint16, and as numpy saves ml_dtypes' bfloat16.
  for (const char* descr : {"<u2", "<V2", "|V2"}) {
    const TemporaryFile brain("b.npy", npy(npy_header(descr, "(1, 16)"), halves));
    const auto bf16 = open_source(request_for(brain.path(), 1), OperandRole::Activations, 0);
    ASSERT_TRUE(bf16.ok()) << bf16.error().message;
    EXPECT_EQ(bf16.value()->element(), ElementType::Bf16);
    EXPECT_EQ(first_row(*bf16.value())[0], bf16_value(0x3E00));
    std::vector<std::uint16_t> bits(16);
    bf16.value()->read_bf16(0, 1, bits);
    EXPECT_EQ(bits[1], 0xC000U);
  }
}

TEST(Npy, RoundsWiderTypesToBf16) {
  const TemporaryFile file(
      "r.npy", npy(npy_header("<f4", "(1, 16)"), raw<float>({1.00390625F, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                             1, 1, 1, 1, 1, 1.01171875F})));
  const auto source = open_source(request_for(file.path(), 1), OperandRole::Activations, 0);
  ASSERT_TRUE(source.ok());
  std::vector<std::uint16_t> bits(16);
  source.value()->read_bf16(0, 1, bits);
  EXPECT_EQ(bits[0], 0x3F80U);   // midpoint, down to even
  EXPECT_EQ(bits[15], 0x3F82U);  // midpoint, up to even
}

struct Broken {
  const char* name;
  std::string contents;
  std::vector<std::string> words;
};

class BrokenNpy : public testing::TestWithParam<Broken> {};

TEST_P(BrokenNpy, IsRefusedWithTheNumbers) {
  const TemporaryFile file("broken.npy", GetParam().contents);
  const auto source = open_source(request_for(file.path(), 1), OperandRole::Activations, 0);
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(source.error().message, HasSubstr("broken.npy"));
  for (const std::string& word : GetParam().words) {
    EXPECT_THAT(source.error().message, HasSubstr(word));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenNpy,
    testing::Values(
        Broken{"Empty", "", {"empty"}}, Broken{"NotNpy", "hello, this is text", {"not a .npy"}},
        Broken{"TruncatedMagic", "\x93NUM", {"not a .npy"}},
        Broken{"UnknownVersion", npy(npy_header("<f4", "(1, 16)"), kRow32, 9), {"version 9"}},
        Broken{"LengthCutOff", std::string("\x93NUMPY\x02\0\x10\0", 10), {"header's length"}},
        Broken{"HugeHeader",
               std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12) + "{}",
               {"4294967295", "65536"}},
        Broken{"HeaderBeyondFile",
               std::string("\x93NUMPY\x01\0\x00\x10", 10) + "{}",
               {"4096 bytes but only 2"}},
        Broken{"TruncatedData",
               npy(npy_header("<f4", "(1, 16)"), kRow32.substr(1)),
               {"[1, 16]", "16 elements", "63 bytes", "truncated"}},
        Broken{"ElementsOverflow",
               npy(npy_header("<f4", "(4294967296, 4294967296, 16)"), kRow32),
               {"more than 2^63"}},
        Broken{"BytesOverflow",
               npy(npy_header("<f4", "(4611686018427387904,)"), kRow32),
               {"4611686018427387904", "truncated"}},
        Broken{"DimensionOverflow",
               npy(npy_header("<f4", "(99999999999999999999,)"), kRow32),
               {"not a dictionary"}},
        Broken{"NegativeDimension", npy(npy_header("<f4", "(-1, -16)"), kRow32), {"negative"}},
        Broken{"NotADictionary", npy("[1, 2, 3]", kRow32), {"not a dictionary"}},
        Broken{"UnclosedString", npy("{'descr': '<f4", kRow32), {"not a dictionary"}},
        Broken{"ExtraKey",
               npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16), 'x': 1}", kRow32),
               {"not a dictionary"}},
        Broken{"MissingKey", npy("{'descr': '<f4', 'shape': (1, 16)}", kRow32), {"fortran_order"}},
        Broken{"CodeInHeader",
               npy("{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (1, 16)}", kRow32),
               {"not a dictionary"}},
        Broken{"Fortran",
               npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 16), }", kRow32),
               {"Fortran", "ascontiguousarray"}},
        Broken{"BigEndian", npy(npy_header(">f4", "(1, 16)"), kRow32), {"big endian", ">f4"}},
        Broken{"Objects", npy(npy_header("|O", "(1, 16)"), kRow32), {"objects", "astype"}},
        Broken{"Records",
               npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 16), }", kRow32),
               {"records"}},
        Broken{
            "Doubles", npy(npy_header("<f8", "(1, 8)"), kRow32), {"'<f8'", "astype(np.float32)"}},
        Broken{"Integers", npy(npy_header("<i4", "(1, 16)"), kRow32), {"integers"}},
        Broken{"WrongShape",
               npy(npy_header("<f4", "(2, 8)"), kRow32),
               {"[2, 8]", "rows = 1", "k = 16"}}),
    [](const auto& test) { return test.param.name; });

TEST(Npy, NoPrefixOfAGoodFileIsReadBeyondItsEnd) {
  const std::string whole = npy(npy_header("<f4", "(1, 16)"), kRow32);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const TemporaryFile file("prefix.npy", whole.substr(0, length));
    EXPECT_FALSE(open_source(request_for(file.path(), 1), OperandRole::Activations, 0).ok())
        << length;
  }
}

TEST(Safetensors, PicksTensorsByName) {
  // One byte of padding before "x": data need not be aligned.
  const std::string json = R"({"__metadata__":{"format":"pt"},)"
                           R"("x":{"dtype":"F32","shape":[1,16],"data_offsets":[1,65]},)"
                           R"("w":{"dtype":"BF16","shape":[2,16,16],"data_offsets":[65,1089]},)"
                           R"("q":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[1089,1093]}})";
  const TemporaryFile file("t.safetensors", safetensors(json, "?" + kRow32 + std::string(1028, 1)));
  const auto x = open_source(request_for(file.path(), 1, "x"), OperandRole::Activations, 0);
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(first_row(*x.value())[0], 1.5F);
  const auto w = open_source(request_for(file.path(), 1, "w"), OperandRole::Weights, 0);
  ASSERT_TRUE(w.ok()) << w.error().message;
  EXPECT_EQ(w.value()->rows(), 32);
  EXPECT_EQ(w.value()->columns(), 16);
  EXPECT_EQ(first_row(*w.value())[3], bf16_value(0x0101));

  const auto missing = open_source(request_for(file.path(), 1, "y"), OperandRole::Activations, 0);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("'y'"), HasSubstr("holds 3")));
  const auto fp8 = open_source(request_for(file.path(), 1, "q"), OperandRole::Activations, 0);
  ASSERT_FALSE(fp8.ok());
  EXPECT_THAT(fp8.error().message, HasSubstr("F8_E4M3"));

  const auto entries = inspect_file(file.path());
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries.value().size(), 3U);
  for (const TensorEntry& entry : entries.value()) {
    EXPECT_EQ(entry.usable, entry.name != "q") << entry.name;
    EXPECT_EQ(entry.reason.empty(), entry.usable);
  }
}

TEST(Safetensors, NoByteBelongsToTwoTensors) {
  const auto refusal = [](const std::string& header) {
    const TemporaryFile file("shared.safetensors", safetensors(header, kRow32));
    const auto entries = inspect_file(file.path());
    return entries.ok() ? std::string() : entries.error().message;
  };
  const auto tensor = [](const char* name, const char* dtype, const char* range) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":[4],"data_offsets":[{}]}})", name, dtype,
                       range);
  };
  EXPECT_EQ(refusal("{" + tensor("a", "F32", "0,16") + "," + tensor("b", "F32", "16,32") + "}"),
            "");
  EXPECT_THAT(refusal("{" + tensor("a", "F32", "0,16") + "," + tensor("b", "F32", "12,28") + "}"),
              AllOf(HasSubstr("'a' (bytes 0 to 16)"), HasSubstr("'b' (bytes 12 to 28)")));
  EXPECT_THAT(refusal("{" + tensor("a", "F32", "0,16") + "," + tensor("b", "F32", "0,16") + "}"),
              HasSubstr("share bytes"));
  EXPECT_THAT(refusal("{" + tensor("a", "F32", "0,16") + "," + tensor("b", "F8_E4M3", "2,6") + "}"),
              HasSubstr("share bytes"))
      << "also where the type cannot be read";
  EXPECT_THAT(refusal("{" + tensor("a", "F8_E4M3", "60,99") + "}"), HasSubstr("outside"));
  EXPECT_THAT(refusal("{" + tensor("a", "F32", "0,16") + "," + tensor("a", "F32", "16,32") + "}"),
              HasSubstr("'a' twice"));
}

class BrokenSafetensors : public testing::TestWithParam<Broken> {};

TEST_P(BrokenSafetensors, IsRefusedWithTheNumbers) {
  const TemporaryFile file("broken.safetensors", GetParam().contents);
  const auto entries = inspect_file(file.path());
  ASSERT_FALSE(entries.ok());
  EXPECT_THAT(entries.error().message, HasSubstr("broken.safetensors"));
  for (const std::string& word : GetParam().words) {
    EXPECT_THAT(entries.error().message, HasSubstr(word));
  }
}

std::string entry(const std::string& fields) {
  return safetensors("{\"x\":{" + fields + "}}", kRow32);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenSafetensors,
    testing::Values(
        Broken{"TooShort", "1234", {"4 bytes"}},
        Broken{"HugeHeader",
               little_endian(std::uint64_t{1} << 62, 8) + "{}",
               {"4611686018427387904", "16777216"}},
        Broken{"HeaderBeyondFile", little_endian(1000, 8) + "{}", {"1000 bytes but only 2"}},
        Broken{"NotJson", safetensors("{\"x\":", kRow32), {"not JSON", "line 1"}},
        Broken{"List", safetensors("[1]", kRow32), {"not a JSON object"}},
        Broken{
            "DeepNesting", safetensors(std::string(100000, '['), kRow32), {"deeper than 3 levels"}},
        Broken{"HugeName",
               safetensors("{\"" + std::string(100000, 'n') + "\":3}", kRow32),
               {"100000 bytes", "8192"}},
        Broken{"NoTensor", safetensors("{}", kRow32), {"no tensor"}},
        Broken{"EntryIsNumber", safetensors("{\"x\":3}", kRow32), {"'x'", "dtype"}},
        Broken{"NoShape", entry(R"("dtype":"F32","data_offsets":[0,64])"), {"shape"}},
        Broken{"FractionInShape",
               entry(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,6])"),
               {"shape"}},
        Broken{"NegativeOffset",
               entry(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])"),
               {"data_offsets"}},
        Broken{"OffsetBeyondFile",
               entry(R"("dtype":"F32","shape":[1,17],"data_offsets":[0,68])"),
               {"0 to 68", "64 bytes"}},
        Broken{"OffsetsReversed",
               entry(R"("dtype":"F32","shape":[0],"data_offsets":[8,4])"),
               {"8 to 4"}},
        Broken{"HugeOffset",
               entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615])"),
               {"data_offsets"}},
        Broken{"ShapeDisagrees",
               entry(R"("dtype":"F32","shape":[1,16],"data_offsets":[0,60])"),
               {"16 elements of 4 bytes", "60 bytes"}},
        Broken{"ShapeOverflows",
               entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,64])"),
               {"more than 2^63"}}),
    [](const auto& test) { return test.param.name; });

TEST(TensorFiles, WeightsMayBeTwoOrThreeDimensional) {
  const std::string data(32 * 16 * 4, '\0');
  for (const char* shape : {"(32, 16)", "(2, 16, 16)"}) {
    const TemporaryFile file("w.npy", npy(npy_header("<f4", shape), data));
    EXPECT_TRUE(open_source(request_for(file.path(), 1), OperandRole::Weights, 3).ok()) << shape;
  }
  for (const char* shape : {"(16, 32)", "(4, 8, 16)", "(512,)"}) {
    const TemporaryFile file("w.npy", npy(npy_header("<f4", shape), data));
    const auto source = open_source(request_for(file.path(), 1), OperandRole::Weights, 0);
    ASSERT_FALSE(source.ok()) << shape;
    EXPECT_THAT(source.error().message, HasSubstr("[2, 16, 16]"));
  }
}

TEST(TensorFiles, NameFilesThatCannotBeOpened) {
  const auto missing = inspect_file("/nowhere/x.npy");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  const auto extension = inspect_file("weights.bin");
  ASSERT_FALSE(extension.ok());
  EXPECT_THAT(extension.error().message, HasSubstr(".npy, .npz and .safetensors"));
  EXPECT_FALSE(inspect_file(testing::TempDir() + "/.npy").ok());
}

TEST(TensorFiles, AMessageAboutALongNameIsShort) {
  const std::string name(1500, 'a');
  for (const std::string& path : {name, "/nowhere/" + name + ".npy"}) {
    const auto refused = inspect_file(path);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, SizeIs(Lt(400)));
  }
  RoutingSpec routing{.distribution = RoutingDistribution::File, .path = name};
  for (const char* suffix : {"", ".json", ".npy"}) {
    routing.path = name + suffix;
    const auto refused = inspect_routing(routing);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, SizeIs(Lt(400)));
  }
}

}  // namespace
}  // namespace engine
