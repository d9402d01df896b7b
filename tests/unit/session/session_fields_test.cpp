// Every described member of everything that is recorded is in the file, without a list of them
// here: each gets a distinct value through its descriptor, and all must come back. A member that is
// added to a type is in the file without further code.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "engine/model/values.h"
#include "profiling/session/layout.h"
#include "profiling/session/table_reader.h"
#include "profiling/session/table_writer.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using engine::Kind;
using engine::Type;

/// Gives every leaf a value that differs from the previous one and from its default.
class Filler {
 public:
  void fill(const Type& type, void* value, const engine::FieldRules& rules = {}) {
    switch (type.kind) {
      case Kind::Record:
        for (const engine::Field& field : type.fields) {
          fill(*field.type, field.in(value), field.rules);
          if (field.type->kind == Kind::List) continue;
          const void* usual = field.in(type.defaults());
          // A bool or a small enumeration has only one other value; a number may equal its default.
          if (engine::equal(*field.type, field.in(value), usual)) {
            fill(*field.type, field.in(value), field.rules);
          }
          EXPECT_FALSE(engine::equal(*field.type, field.in(value), usual)) << field.name;
        }
        if (&type == &engine::kType<engine::RunRequest>) make_valid(value);
        if (&type == &engine::kType<engine::MagnitudeHistogram>) {
          // The edges of its bins are numbers.
          static_cast<engine::MagnitudeHistogram*>(value)->first_bin %= 1000;
        }
        return;
      case Kind::List:
        return fill_list(type, value, rules);
      case Kind::Choice: {
        std::size_t index = next() % type.choice.types.size();
        while (type.choice.types[index] == nullptr) index = next() % type.choice.types.size();
        return fill(*type.choice.types[index], type.choice.choose(value, index));
      }
      case Kind::Optional:
        return fill(*type.element, type.maybe.make(value), rules);
      case Kind::Text:
        *static_cast<std::string*>(value) = fmt::format("text “{}”", next());
        return;
      case Kind::Bool:
        engine::store(type, value, engine::signed_number(type, value) == 0 ? std::int64_t{1} : 0);
        return;
      case Kind::Enum:
        engine::store(type, value, type.names[next() % type.names.size()].value);
        return;
      default:
        return fill_number(type, value, rules);
    }
  }

 private:
  std::uint64_t next() { return ++count_; }

  /// A request that is read is checked as a whole.
  void make_valid(void* value) {
    auto& request = *static_cast<engine::RunRequest*>(value);
    request.shape.n = static_cast<std::int64_t>(next() % 1000 + 1) * 32;  // two halves
    request.shape.k = static_cast<std::int64_t>(next() % 1000 + 1) * 16;
    request.shape.num_experts = 64;
    request.expert_layer.top_k = static_cast<int>(next() % 64 + 1);
    request.shape.rows = static_cast<std::int64_t>(next() % 1000 + 1) * request.expert_layer.top_k;
    request.products.wgrad_type = engine::ElementType::Fp32;
    request.recipe.high_precision = engine::ElementType::Fp16;
    request.routing.path = "splits.npy";
    request.routing.distribution = engine::RoutingDistribution::File;
    const engine::Status status = engine::validate(request);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }

  void fill_list(const Type& type, void* list, const engine::FieldRules& rules) {
    type.list.resize(list, std::min<std::size_t>(rules.most, 3));
    for (std::size_t i = 0; i < type.list.size(list); ++i) {
      fill(*type.element, static_cast<char*>(type.list.data(list)) + i * type.element->size, rules);
    }
  }

  void fill_number(const Type& type, void* value, const engine::FieldRules& rules) {
    const auto low = static_cast<std::int64_t>(std::max(rules.low, -1000.0));
    const auto high = static_cast<std::int64_t>(std::min(rules.high, 1e15));
    const std::int64_t number = low + static_cast<std::int64_t>(next()) % (high - low + 1);
    if (type.kind == Kind::Real) {
      engine::store(type, value, std::min(static_cast<double>(number) + 0.25, rules.high));
    } else if (type.kind == Kind::Unsigned && type.size == 8 && std::isinf(rules.high)) {
      engine::store(type, value, ~next());  // all 64 bits count
    } else if (!engine::store(type, value, number)) {
      engine::store(type, value, static_cast<std::int64_t>(next() % 100));
    }
  }

  std::uint64_t count_ = 0;
};

/// The tables of one kind in memory.
class Tables {
 public:
  explicit Tables(const Layout& layout) : layout_(layout) {
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &raw), SQLITE_OK);
    database_.reset(raw);
    for (const auto& table : layout.tables) run(definition_of(*table));
  }
  void run(const std::string& sql) {
    const engine::Status status = execute_sql(database_.get(), path_, sql);
    EXPECT_TRUE(status.ok()) << status.error().message << "\n" << sql;
  }
  engine::Status write(std::int64_t id, const void* record) {
    return RecordWriter({.database = database_.get(), .path = path_}, layout_).write(id, record);
  }
  template <class Recorded>
  engine::Status read(std::vector<Recorded>& list) {
    const SessionLimits limits;
    MemoryBudget budget(limits.max_memory_bytes);
    const TableSource source{.database = database_.get(),
                             .path = path_,
                             .limits = limits,
                             .file_bytes = 1 << 20,
                             .budget = budget};
    return read_recorded(source, layout_, engine::kType<std::vector<Recorded>>, &list);
  }

 private:
  const Layout& layout_;
  const std::string path_ = "memory";
  Database database_;
};

template <class Recorded>
class EveryField : public testing::Test {};
using AllRecorded =
    testing::Types<RecordedRun, RecordedComparison, RecordedVisit, RecordedSnapshot>;
TYPED_TEST_SUITE(EveryField, AllRecorded);

TYPED_TEST(EveryField, ComesBack) {
  Tables tables(layout_of<TypeParam>());
  std::vector<TypeParam> written(3);
  Filler filler;
  std::int64_t id = 0;
  for (TypeParam& record : written) {
    filler.fill(engine::kType<TypeParam>, &record);
    if constexpr (requires { record.snapshot.graphs; } &&
                  !std::is_same_v<TypeParam, RecordedSnapshot>) {
      record.snapshot = {};  // recorded separately
    } else if constexpr (requires { record.report.snapshot; }) {
      record.report.snapshot = {};
    }
    const engine::Status status = tables.write(++id, &record);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  std::vector<TypeParam> read;
  const engine::Status status = tables.read(read);
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(describe(read[i]), describe(written[i]));
    EXPECT_TRUE(engine::equal_fields(read[i], written[i]));
  }
}

// --- an added field ----------------------------------------------------------------------------

enum class Mode { Slow, Quick };
constexpr auto enum_names(Mode) { return std::to_array<std::string_view>({"slow", "quick"}); }

struct Part {
  int number = 0;
  std::vector<std::string> words = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Part::number>({.low = 0, .high = 9}),
                      engine::field<&Part::words>()};
  }
};

}  // namespace
}  // namespace profiling

template <>
struct engine::ChoiceNames<std::variant<std::monostate, profiling::Part>> {
  static constexpr std::string_view name = "profiling::PartOrNone";
  static constexpr std::array<std::string_view, 2> names = {"", "part"};
};

namespace profiling {
namespace {

struct Sample {
  int rounds = 3;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Sample::rounds>();
  }
};

/// The same type in a later program: one more member of every kind.
struct GrownSample {
  int rounds = 3;
  Mode added = Mode::Quick;
  int margin = 1;
  double share = 0.5;
  Part part = {};
  std::vector<Part> parts = {};
  std::vector<float> map = {};
  std::variant<std::monostate, Part> chosen = {};
  std::optional<Part> maybe = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&GrownSample::rounds>(),
                      engine::field<&GrownSample::added>(),
                      engine::field<&GrownSample::margin>({.low = -2, .high = 2}),
                      engine::field<&GrownSample::share>(),
                      engine::field<&GrownSample::part>(),
                      engine::field<&GrownSample::parts>(),
                      engine::field<&GrownSample::map>({.most = 4}),
                      engine::field<&GrownSample::chosen>(),
                      engine::field<&GrownSample::maybe>()};
  }
};

template <class T>
Layout sample_layout() {
  return make_layout(engine::kType<T>, {.name = "sample", .table = "samples"});
}

GrownSample grown_sample() {
  GrownSample sample;
  sample.added = Mode::Slow;
  sample.margin = -2;
  sample.share = std::nan("");
  sample.part = {.number = 4, .words = {"one"}};
  sample.parts = {{.number = 5, .words = {"two", "three"}}, {.number = 6}};
  sample.map = {1.5F, -0.0F};
  sample.chosen = Part{.number = 7, .words = {"four"}};
  sample.maybe = Part{.number = 8, .words = {"five"}};
  return sample;
}

TEST(AddedField, IsInTheFile) {
  const Layout layout = sample_layout<GrownSample>();
  Tables tables(layout);
  const GrownSample first = grown_sample();
  const GrownSample second;
  ASSERT_TRUE(tables.write(1, &first).ok());
  ASSERT_TRUE(tables.write(2, &second).ok());
  std::vector<GrownSample> read;
  const engine::Status status = tables.read(read);
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(describe(read[0]), describe(first));
  EXPECT_EQ(describe(read[1]), describe(second));
  EXPECT_TRUE(engine::equal_fields(read[0], first));
}

TEST(AddedField, HasItsDefaultInAnOlderFile) {
  const Layout older = sample_layout<Sample>();
  Tables tables(older);
  const Sample written{.rounds = 5};
  ASSERT_TRUE(tables.write(1, &written).ok());
  const Layout newer = sample_layout<GrownSample>();
  std::vector<GrownSample> read;
  Tables view(newer);
  view.run(
      "DROP TABLE samples; CREATE TABLE samples(sample_id INTEGER PRIMARY KEY, rounds INTEGER)");
  view.run("INSERT INTO samples VALUES(1, 5); DROP TABLE samples_parts");
  const engine::Status status = view.read(read);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(describe(read.at(0)), describe(GrownSample{.rounds = 5}));
}

TEST(AddedField, KeepsToItsLimit) {
  const Layout layout = sample_layout<GrownSample>();
  const auto refusal = [&](const char* sql) {
    Tables tables(layout);
    const GrownSample written = grown_sample();
    EXPECT_TRUE(tables.write(1, &written).ok());
    tables.run(sql);
    std::vector<GrownSample> read;
    const engine::Status status = tables.read(read);
    return status.ok() ? "read" : status.error().message;
  };
  EXPECT_EQ(refusal("UPDATE samples SET margin = 3"),
            "memory: table samples, row 1: margin is 3; it must be between -2 and 2");
  EXPECT_EQ(refusal("UPDATE samples SET added = 'soon'"),
            "memory: table samples, row 1: added is 'soon', which is none of the 2 known");
  EXPECT_EQ(refusal("UPDATE samples_parts SET number = 10 WHERE position = 1"),
            "memory: table samples_parts, row 2: number is 10; it must be between 0 and 9");
  EXPECT_EQ(
      refusal("DELETE FROM samples_chosen_part"),
      "memory: table samples_chosen_part_words, row 1: its row of samples_chosen_part is missing");
  // Magic number, a single segment of 20 bytes.
  EXPECT_EQ(
      refusal("UPDATE samples SET map = x'28b52ffd2014a10000'"),
      "memory: table samples, row 1: blob map declares 20 bytes of content; it takes at most 4 "
      "numbers of 4 bytes");
}

}  // namespace
}  // namespace profiling
