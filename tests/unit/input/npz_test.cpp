// .npz archives: the right values from stored and compressed members, a sentence with the way out
// from every broken or hostile one, and never more memory than the archive declares and can hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "engine/input/recorded_routing.h"
#include "engine/input/tensor_file.h"
#include "engine/input/tensor_source.h"
#include "tests/unit/input/npy_bytes.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::HasSubstr;

struct ZipMember {
  std::string name;
  std::string content;
  bool deflated = false;
  // What the directory says instead.
  std::int64_t size = -1;
  std::int64_t packed = -1;
  std::int64_t local = -1;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool wrong_sum = false;
};

std::string deflate_raw(const std::string& content) {
  std::string packed(content.size() + 1024, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string input = content;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// `wide`: sizes and places in the fields of 64 bits, as archives above 4 GiB have them.
std::string zip(const std::vector<ZipMember>& members, bool wide = false) {
  std::string file;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::string packed = member.deflated ? deflate_raw(member.content) : member.content;
    const auto method = static_cast<std::uint16_t>(member.method != 0 ? member.method
                                                   : member.deflated  ? 8
                                                                      : 0);
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                            static_cast<uInt>(member.content.size())) ^
                      (member.wrong_sum ? 1U : 0U);
    const auto or_else = [](std::int64_t said, std::size_t real) {
      return said < 0 ? static_cast<std::uint64_t>(real) : static_cast<std::uint64_t>(said);
    };
    const std::uint64_t size = or_else(member.size, member.content.size());
    const std::uint64_t bytes = or_else(member.packed, packed.size());
    const std::uint64_t local = or_else(member.local, file.size());
    const auto shown = [wide](std::uint64_t number) {
      return little_endian(wide ? 0xFFFFFFFF : number, 4);
    };
    file += "PK\x03\x04" + std::string(22, '\0') + little_endian(member.name.size(), 2) +
            little_endian(0, 2) + member.name + packed;
    const std::string extra = wide ? little_endian(1, 2) + little_endian(24, 2) +
                                         little_endian(size, 8) + little_endian(bytes, 8) +
                                         little_endian(local, 8)
                                   : "";
    directory += "PK\x01\x02" + std::string(4, '\0') + little_endian(member.flags, 2) +
                 little_endian(method, 2) + std::string(4, '\0') + little_endian(sum, 4) +
                 shown(bytes) + shown(size) + little_endian(member.name.size(), 2) +
                 little_endian(extra.size(), 2) + std::string(10, '\0') + shown(local) +
                 member.name + extra;
  }
  const std::size_t begin = file.size();
  file += directory;
  if (wide) {
    const std::size_t at = file.size();
    file += "PK\x06\x06" + std::string(20, '\0') + std::string(8, '\0') +
            little_endian(members.size(), 8) + little_endian(directory.size(), 8) +
            little_endian(begin, 8);
    file += "PK\x06\x07" + std::string(4, '\0') + little_endian(at, 8) + std::string(4, '\0');
  }
  return file + "PK\x05\x06" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(wide ? 0xFFFFFFFF : begin, 4) + little_endian(0, 2);
}

std::string tensor(std::initializer_list<float> values, const std::string& shape) {
  return npy(npy_header("<f4", shape), raw<float>(values));
}

const std::string kRow =
    tensor({1.5F, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "(1, 16)");

Result<std::unique_ptr<TensorSource>> open_x(const std::string& path, const std::string& name) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 2, .rows = 1, .n = 16, .k = 16};
  request.activations = FileInput{.path = path, .tensor = name};
  return open_source(request, OperandRole::Activations, 0);
}

TEST(Npz, StoredAndCompressedTensorsHaveTheSameValues) {
  for (const bool wide : {false, true}) {
    const TemporaryFile file(
        "a.npz", zip({{.name = "x.npy", .content = kRow},
                      {.name = "layer/w.npy", .content = kRow, .deflated = true},
                      {.name = "splits.npy",
                       .content = npy(npy_header("<i8", "(2,)"), raw<std::int64_t>({1, 0}))}},
                     wide));
    const auto entries = inspect_file(file.path());
    ASSERT_TRUE(entries.ok()) << entries.error().message;
    ASSERT_EQ(entries.value().size(), 3U);
    EXPECT_EQ(entries.value()[1].name, "layer/w");
    EXPECT_EQ(entries.value()[1].shape, (std::vector<std::int64_t>{1, 16}));
    EXPECT_TRUE(entries.value()[1].usable);
    EXPECT_TRUE(entries.value()[2].integers);
    for (const char* name : {"x", "layer/w"}) {
      const auto source = open_x(file.path(), name);
      ASSERT_TRUE(source.ok()) << source.error().message;
      std::vector<float> row(16);
      source.value()->read_f32(0, 1, row);
      EXPECT_EQ(row[0], 1.5F);
      EXPECT_EQ(row[15], 16.0F);
    }
    RoutingSpec routing{.distribution = RoutingDistribution::File, .path = file.path()};
    routing.tensor = "splits";
    const auto facts = inspect_routing(routing);
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts.value().experts, 2);
  }
}

TEST(Npz, OnlyTheWantedTensorIsInflated) {
  const TemporaryFile file("a.npz", zip({{.name = "x.npy", .content = kRow, .deflated = true},
                                         {.name = "w.npy", .content = kRow, .deflated = true}}));
  const auto listed = open_tensor_file(file.path(), {.any = false});
  ASSERT_TRUE(listed.ok());
  EXPECT_TRUE(listed.value().inflated.empty());
  const auto one = open_tensor_file(file.path(), {.name = "w"});
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one.value().inflated.size(), 1U);
  EXPECT_EQ(one.value().inflated.front().size, kRow.size());
  EXPECT_EQ(one.value().tensors[1].bytes.size(), 64U);
}

struct BrokenArchive {
  std::string what;
  std::string file;
  std::string says;
};

std::vector<BrokenArchive> broken_archives() {
  const std::string good = zip({{.name = "x.npy", .content = kRow}});
  const ZipMember packed{.name = "x.npy", .content = kRow, .deflated = true};
  const auto with = [](ZipMember member, auto change) {
    change(member);
    return zip({member});
  };
  std::string second =
      zip({{.name = "x.npy", .content = kRow}, {.name = "x.npy", .content = kRow}});
  return {
      {"tiny", "PK", "no ZIP directory at its end"},
      {"truncated", good.substr(0, good.size() - 30), "no ZIP directory at its end"},
      {"no head", good.substr(40), "the file is truncated or damaged"},
      {"no member", zip({}), "it contains no tensor"},
      {"pickle", zip({{.name = "archive/data.pkl", .content = "x"}}),
       "'archive/data.pkl' is no .npy"},
      {"path", zip({{.name = "../../etc/x.npy", .content = kRow}}), "is not named as a tensor"},
      {"root", zip({{.name = "/x.npy", .content = kRow}}), "is not named as a tensor"},
      {"control", zip({{.name = "x\x1b[2J.npy", .content = kRow}}), "(control characters)"},
      {"twice", second, "two tensors named 'x'"},
      {"encrypted", with(packed, [](ZipMember& m) { m.flags = 1; }), "is encrypted"},
      {"method", with(packed, [](ZipMember& m) { m.method = 14; }),
       "by ZIP method 14; only stored"},
      {"bomb", with(packed, [](ZipMember& m) { m.size = 0xF0000000; }),
       "claims 4026531840 bytes, which"},
      {"long", with(packed, [](ZipMember& m) { m.size = 2 * std::ssize(kRow); }),
       "'x' declares 282 bytes and inflates to 141"},
      {"stored longer",
       with({.name = "x.npy", .content = kRow}, [](ZipMember& m) { m.size = 9999; }),
       "claims 9999 bytes, which cannot come from 141"},
      {"outside", with(packed, [](ZipMember& m) { m.packed = 100000; }),
       "claims 100000 bytes from byte"},
      {"elsewhere", with(packed, [](ZipMember& m) { m.local = 7; }), "is said to begin at byte 7"},
      {"sum", with(packed, [](ZipMember& m) { m.wrong_sum = true; }), "its checksum is wrong"},
      {"shared",
       zip({{.name = "x.npy", .content = kRow}, {.name = "y.npy", .content = kRow, .local = 0}}),
       "share bytes"},
      {"no npy", zip({{.name = "x.npy", .content = "hello, hello, hello"}}),
       "'x': not a .npy file"},
  };
}

TEST(Npz, BrokenAndHostileArchivesAreRefusedWithTheirReason) {
  for (const BrokenArchive& broken : broken_archives()) {
    const TemporaryFile file("b.npz", broken.file);
    const auto opened = open_tensor_file(file.path());
    ASSERT_FALSE(opened.ok()) << broken.what;
    EXPECT_THAT(opened.error().message, HasSubstr(broken.says)) << broken.what;
    EXPECT_THAT(opened.error().message, testing::Not(HasSubstr("\x1b")));
  }
}

TEST(Npz, EveryTruncationAndFlippedByteIsSurvived) {
  const std::string good = zip(
      {{.name = "x.npy", .content = kRow, .deflated = true}, {.name = "w.npy", .content = kRow}});
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0xFF);
    for (const std::string& bytes : {good.substr(0, at), flipped}) {
      (void)parse_npz(std::as_bytes(std::span(bytes)), "x.npz", {});
    }
  }
}

}  // namespace
}  // namespace engine
