// Conversions both ways: nothing is lost, and nothing unknown is accepted.
#include "app/protocol/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <variant>

#include "app/protocol/wire_schema.h"
#include "tests/unit/protocol/random_value.h"
#include "tests/unit/protocol/settled_channels.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr unsigned kRounds = 100;
constexpr int kStages = static_cast<int>(engine::kStageNames.size());

/// Satisfies a value's own rules beyond the limits of its fields.
testing::RandomValue random_value(unsigned seed) {
  testing::RandomValue random(seed);
  random.settle<engine::ShapeSpec>([](auto& shape) {
    // Both halves of it are multiples of 16.
    shape.n = shape.n / 32 * 32 + 32 - (shape.n / 32 * 32 == engine::kMaxDimension ? 32 : 0);
    shape.k = shape.k / 16 * 16 + 16 - (shape.k / 16 * 16 == engine::kMaxDimension ? 16 : 0);
  });
  random.settle<engine::ExpertLayerOptions>([](auto& layer) { layer.top_k %= 2; });
  random.settle<engine::Recipe>([](auto& recipe) {
    if (recipe.high_precision == engine::ElementType::Fp32) recipe.high_precision = {};
  });
  random.settle<engine::ProductOptions>([](auto& products) {
    if (products.wgrad_type == engine::ElementType::Fp16) products.wgrad_type = {};
  });
  random.settle<engine::MagnitudeHistogram>(
      [](auto& histogram) { histogram.first_bin = std::abs(histogram.first_bin % 1000); });
  random.settle<engine::ScaleMap>([](auto& map) {
    map.rows = 1;
    map.columns = static_cast<int>(map.mean.size());
    for (auto* cells : {&map.maximum, &map.minimum, &map.saturated_share}) {
      cells->resize(map.mean.size(), 0.25F);
    }
    map.expert_first_row = {0, map.source_rows};
    map.deviation.clear();  // not measured
    map.underflowed_share.clear();
  });
  random.settle<engine::ChannelStatistics>(
      [](auto& channels) { testing::settle_channels(channels); });
  random.settle<engine::ComparisonRequest>([](auto& request) {
    request.gradients = false;
    if (!request.series) return;
    request.weights = false;
    for (engine::Recipe& recipe : request.recipes)
      recipe.delayed.history_length = 1 + recipe.delayed.history_length % 8;
  });
  // answer_limits_test covers those over steps, whose parts follow from each other.
  random.settle<engine::RecipeComparison>(
      [](auto& comparison) { comparison.request.series.reset(); });
  random.settle<engine::QuantizationSample>([](auto& sample) {
    sample.rows = 1;
    sample.columns = static_cast<int>(sample.original.size());
    sample.codes.resize(sample.original.size(), 0xA5);
    sample.scale_inv.resize(sample.original.size(), 1.5F);
    sample.decoded.resize(sample.original.size(), 1.5F);
  });
  random.settle<engine::StepSeries>([](auto& series) {
    series.steps = 1 + series.steps % 8;
    series.outlier_step = series.steps - 1;
    series.outlier_expert = 0;
    series.outlier_factor = 8;
    series.idle = {{.step = 0, .expert = 0}};
  });
  random.settle<engine::BenchShape>([](auto& shape) {
    shape.rows = 1 + shape.rows % 1000;
    shape.columns = 16 * (1 + shape.columns % 1000);
  });
  random.settle<engine::BenchRow>([](auto& row) { row.median_us = 1.5; });
  random.settle<engine::BenchOrder>([](auto& order) {
    order.seconds = 1.5;
    order.suite = engine::BenchSuite::Quantize;
  });
  // convert_doctor_test covers the contents of snapshots.
  random.settle<profiling::Snapshot>([](auto& snapshot) {
    snapshot.graphs.clear();
    snapshot.ledger.clear();
    snapshot.launches.clear();
    snapshot.pools.clear();
  });
  random.settle<profiling::MarkerCost>([](auto& cost) { cost.samples = 3; });
  const auto in_order = [](auto& span) {
    span.start_ns /= 2;
    span.end_ns = span.start_ns + 1;
  };
  random.settle<profiling::ActivityRecord>(in_order);
  random.settle<profiling::HostEvent>(in_order);
  random.settle<profiling::HostCall>(in_order);
  return random;
}

template <class V, class M>
void expect_round_trips(const Travels<V, M>&) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    const V sent = random_value(seed).make<V>();
    const M message = to_wire(sent);
    M arrived;
    ASSERT_TRUE(arrived.ParseFromString(message.SerializeAsString()));
    const engine::Result<V> got = from_wire(arrived);
    ASSERT_TRUE(got.ok()) << arrived.GetTypeName() << ": " << got.error().message;
    ASSERT_TRUE(engine::equal_fields(sent, got.value())) << arrived.ShortDebugString();
  }
}

template <class... Pair>
void for_each_pair(const TravelList<Pair...>&, const auto& visit) {
  (visit(Pair{}), ...);
}

TEST(Convert, EveryValueRoundTrips) {
  for_each_pair(Travelling{}, [](const auto& pair) { expect_round_trips(pair); });
}

/// "run RunRequest, ...": the alternatives of a choice, or of the oneof that a message has for it.
std::string alternatives(const engine::Type& choice) {
  std::string text;
  for (std::size_t i = 0; i < choice.choice.names.size(); ++i) {
    text += fmt::format("{} {}, ", choice.choice.names[i], message_name(*choice.choice.types[i]));
  }
  return text;
}
std::string alternatives(const google::protobuf::Descriptor& message) {
  std::string text;
  const auto& oneof = *message.oneof_decl(0);
  for (int i = 0; i < oneof.field_count(); ++i) {
    text += fmt::format("{} {}, ", oneof.field(i)->name(), oneof.field(i)->message_type()->name());
  }
  return text;
}

TEST(Convert, OrdersAndAnswersHaveTheirMessages) {
  EXPECT_EQ(alternatives(engine::kType<Task>), alternatives(*wire::Order::descriptor()));
  EXPECT_EQ(alternatives(engine::kType<Answer>), alternatives(*wire::Answer::descriptor()));
}

/// Calls `visit` with a value of every alternative.
template <class... Kinds>
void for_each_kind(const std::variant<Kinds...>&, unsigned seed, const auto& visit) {
  (visit(random_value(seed).make<Kinds>()), ...);
}

TEST(Convert, EveryOrderAndEveryAnswerRoundTrips) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    for_each_kind(Task(), seed, [](const auto& sent) {
      using Kind = std::remove_cvref_t<decltype(sent)>;
      const auto got = from_wire(to_wire({.id = 7, .task = sent, .allowed_libraries = {"a"}}));
      ASSERT_TRUE(got.ok()) << got.error().message;
      EXPECT_EQ(got.value().id, 7U);
      EXPECT_THAT(got.value().allowed_libraries, ::testing::ElementsAre("a"));
      ASSERT_TRUE(std::holds_alternative<Kind>(got.value().task));
      EXPECT_TRUE(engine::equal_fields(sent, std::get<Kind>(got.value().task)));
    });
    for_each_kind(Answer(), seed, [](const auto& sent) {
      using Kind = std::remove_cvref_t<decltype(sent)>;
      const wire::Answer message = to_wire(7, sent);
      EXPECT_EQ(message.id(), 7U);
      const auto got = from_wire(message);
      ASSERT_TRUE(got.ok()) << got.error().message;
      ASSERT_TRUE(std::holds_alternative<Kind>(got.value()));
      EXPECT_TRUE(engine::equal_fields(sent, std::get<Kind>(got.value())));
    });
  }
}

TEST(Convert, EveryAnswerBelongsToAnOrder) {
  const auto& results = *wire::Answer::descriptor()->oneof_decl(0);
  for (int i = 0; i < results.field_count(); ++i) {
    const auto kind = static_cast<wire::Answer::ResultCase>(results.field(i)->number());
    if (kind == wire::Answer::kFailed) continue;
    EXPECT_NE(wire::Order::descriptor()->FindFieldByNumber(order_of(kind)), nullptr)
        << results.field(i)->name();
  }
  const auto& tasks = *wire::Order::descriptor()->oneof_decl(0);
  for (int i = 0; i < tasks.field_count(); ++i) {
    const auto* last = wire::Answer::descriptor()->FindFieldByNumber(tasks.field(i)->number());
    EXPECT_NE(last, nullptr) << "nothing closes " << tasks.field(i)->name();
  }
}

TEST(Convert, AnOrderOrAnswerOfAnUnknownKindIsRefused) {
  EXPECT_THAT(from_wire(wire::Order()).error().message, HasSubstr("unknown message type"));
  EXPECT_THAT(from_wire(wire::Answer()).error().message, HasSubstr("unknown message type"));
}

TEST(Convert, ErrorsOfAnOrderBeginInItsTask) {
  wire::Order order = to_wire({.id = 1, .task = engine::RunRequest()});
  order.mutable_run()->mutable_shape()->set_rows(-1);
  EXPECT_EQ(from_wire(order).error().field, "shape.rows");
}

TEST(Convert, AbsentFieldsOfAComparisonKeepTheDefaults) {
  wire::Order order;
  order.mutable_compare();
  const engine::Result<Order> read = from_wire(order);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<engine::ComparisonRequest>(read.value().task), engine::ComparisonRequest());
}

TEST(Convert, SamplesMustHoldTheirElements) {
  wire::RecipeComparison message;
  wire::QuantizationSample& sample = *message.add_reports()->mutable_sample();
  sample.set_rows(1);
  sample.set_columns(2);
  EXPECT_FALSE(from_wire(message).ok());
  for (int i = 0; i < 2; ++i) {
    sample.add_original(0.0F);
    sample.add_scale_inv(0.0F);
    sample.add_decoded(0.0F);
  }
  sample.set_codes("ab");
  EXPECT_TRUE(from_wire(message).ok());
  sample.set_rows(-1);
  sample.set_columns(-2);
  EXPECT_FALSE(from_wire(message).ok());
}

TEST(Convert, AbsentFieldsKeepTheDefaults) {
  const engine::Result<engine::RunRequest> request = from_wire(wire::RunRequest());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request.value(), engine::RunRequest());
}

TEST(Convert, UnknownEnumsAreRefusedByName) {
  wire::RunRequest message;
  message.mutable_recipe()->set_scaling(static_cast<wire::Scaling>(7));
  const engine::Result<engine::RunRequest> request = from_wire(message);
  ASSERT_FALSE(request.ok());
  EXPECT_THAT(request.error().message, HasSubstr("recipe.scaling is 7"));

  wire::RunResult result;
  EXPECT_TRUE(from_wire(result).ok());
  result.mutable_effective()->set_backend(static_cast<wire::GemmBackend>(-3));
  ASSERT_FALSE(from_wire(result).ok());
  EXPECT_THAT(from_wire(result).error().message, HasSubstr("effective.backend is -3"));

  wire::PulseReport pulse;
  pulse.set_stage(static_cast<wire::Stage>(99));
  EXPECT_FALSE(from_wire(pulse).ok());
}

TEST(Convert, InvalidUtf8IsStillTransferred) {
  // Protobuf would drop the whole message; a file's header or a path must not cost the worker.
  FileReport report{.path = "/data/\xE9t\xE9.npy", .error = {}, .tensors = {}};
  report.tensors.push_back(
      {.name = "w\xFF\xC0\x80", .dtype = "\xED\xA0\x80", .shape = {1}, .reason = {}});
  wire::FileReport message;
  ASSERT_TRUE(message.ParseFromString(to_wire(report).SerializeAsString()));
  EXPECT_EQ(message.path(), "/data/?t?.npy");
  EXPECT_EQ(message.tensors(0).name(), "w???");
  EXPECT_EQ(message.tensors(0).dtype(), "???");
  report.path = "/data/\u00e9t\u00e9 \U0001F600.npy";
  EXPECT_EQ(to_wire(report).path(), report.path);
}

TEST(Convert, ScaleMapMustHoldItsCells) {
  wire::RunResult message;
  message.add_tensors();
  message.mutable_tensors(0)->mutable_quantization()->mutable_scale_map()->set_rows(1 << 30);
  message.mutable_tensors(0)->mutable_quantization()->mutable_scale_map()->set_columns(1 << 30);
  const engine::Result<engine::RunResult> result = from_wire(message);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("tensors[0].quantization.scale_map"));
}

TEST(Convert, HistogramBinsMustExist) {
  wire::RunResult message;
  message.add_tensors();
  message.mutable_tensors(0)->mutable_quantization()->mutable_before()->set_first_bin(1023);
  message.mutable_tensors(0)->mutable_quantization()->mutable_before()->add_counts(1);
  EXPECT_TRUE(from_wire(message).ok());
  message.mutable_tensors(0)->mutable_quantization()->mutable_before()->add_counts(1);
  EXPECT_FALSE(from_wire(message).ok());
}

profiling::Activity make_activity(std::size_t records) {
  profiling::Activity activity;
  activity.names = {"quantize", "matmul"};
  activity.nodes = {{.id = 9,
                     .name = "matmul",
                     .stage = engine::Stage::Fprop,
                     .layer = 1,
                     .dependencies = {4, 5}}};
  for (std::size_t i = 0; i < records; ++i) {
    const auto time = static_cast<std::int64_t>(i);
    activity.records.push_back({.start_ns = time * 3 - 5,
                                .end_ns = time * 3 + 1,
                                .node_id = i * 7,
                                .name = static_cast<std::uint32_t>(i % 2),
                                .iteration = static_cast<std::int32_t>(i % 50) - 1,
                                .expert = static_cast<std::int16_t>(i % 9 - 1),
                                .layer = static_cast<std::uint8_t>(i % 8),
                                .kind = static_cast<profiling::ActivityKind>(i % 4),
                                .lane = static_cast<std::uint16_t>(i % 3),
                                .stage = static_cast<engine::Stage>(i % 7)});
  }
  return activity;
}

TEST(ActivityChunks, AreReassembled) {
  const profiling::Activity sent = make_activity(kMaxChunkRecords * 2 + 17);
  ActivityAssembler assembler;
  int chunks = 0;
  for (std::size_t first = 0; first < sent.records.size(); first += kMaxChunkRecords) {
    ASSERT_TRUE(assembler.add(3, activity_chunk(sent, first)).ok());
    ++chunks;
  }
  EXPECT_EQ(chunks, 3);
  const profiling::Activity got = assembler.take(3);
  EXPECT_EQ(got.names, sent.names);
  ASSERT_EQ(got.nodes.size(), 1U);
  EXPECT_EQ(got.nodes[0].dependencies, sent.nodes[0].dependencies);
  EXPECT_EQ(got.nodes[0].stage, engine::Stage::Fprop);
  EXPECT_EQ(got.nodes[0].layer, 1);
  ASSERT_EQ(got.records.size(), sent.records.size());
  for (std::size_t i = 0; i < got.records.size(); ++i) {
    const profiling::ActivityRecord& a = got.records[i];
    const profiling::ActivityRecord& b = sent.records[i];
    ASSERT_TRUE(a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.node_id == b.node_id &&
                a.name == b.name && a.iteration == b.iteration && a.expert == b.expert &&
                a.layer == b.layer && a.kind == b.kind && a.lane == b.lane && a.stage == b.stage &&
                a.shape == b.shape && a.call == b.call)
        << "record " << i;
  }
}

void add_events_to(profiling::Activity& activity, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto time = static_cast<std::int64_t>(i);
    activity.host_events.push_back({.start_ns = time - 9,
                                    .end_ns = time + 2,
                                    .name = static_cast<std::uint32_t>(i % 2),
                                    .iteration = static_cast<std::int32_t>(i % 50) - 1,
                                    .layer = static_cast<std::uint8_t>(i % 8),
                                    .kind = static_cast<profiling::HostEventKind>(i % 7),
                                    .lane = static_cast<std::uint16_t>(i % 3),
                                    .stage = static_cast<engine::Stage>(i % kStages)});
    activity.memory_events.push_back({.time_ns = time - 3,
                                      .address = (std::uint64_t{1} << 63) + i,
                                      .bytes = i * 512,
                                      .pool = i % 5,
                                      .pool_bytes = i * 3,
                                      .pool_used = i,
                                      .iteration = static_cast<std::int32_t>(i % 7) - 1,
                                      .layer = static_cast<std::uint8_t>(i % 8),
                                      .operation = static_cast<profiling::MemoryOperation>(i % 5),
                                      .space = static_cast<engine::MemorySpace>(i % 5),
                                      .stage = static_cast<engine::Stage>(i % kStages),
                                      .stream_ordered = i % 2 == 1});
  }
}

TEST(ActivityChunks, EventsAreSentEvenIfTheyOutnumberTheRecords) {
  profiling::Activity sent = make_activity(3);
  add_events_to(sent, kMaxChunkRecords + 5);
  ASSERT_EQ(chunked_length(sent), kMaxChunkRecords + 5);
  ActivityAssembler assembler;
  for (std::size_t first = 0; first < chunked_length(sent); first += kMaxChunkRecords) {
    ASSERT_TRUE(assembler.add(3, activity_chunk(sent, first)).ok());
  }
  const profiling::Activity got = assembler.take(3);
  EXPECT_EQ(got.records.size(), 3U);
  EXPECT_EQ(got.host_events, sent.host_events);
  EXPECT_EQ(got.memory_events, sent.memory_events);
}

/// "accepted", or why not.
std::string verdict(const wire::Answer& chunk) {
  engine::Result<Answer> read = from_wire(chunk);
  if (!read.ok()) return read.error().message;
  ActivityAssembler assembler;
  const engine::Status added =
      assembler.add(chunk.id(), std::get<profiling::Activity>(std::move(read).value()));
  return added.ok() ? "accepted" : added.error().message;
}

TEST(ActivityChunks, LaunchesTravelAndMayNotPointBeyondThem) {
  profiling::Activity sent = make_activity(2);
  sent.shapes = {{.grid_x = 132, .block_x = 384, .registers_per_thread = 168},
                 {.bytes = std::uint64_t{1} << 40}};
  sent.calls = {{.start_ns = -5, .end_ns = 7, .name = 1}};
  sent.records[0].shape = 1;
  sent.records[0].call = 1;
  sent.records[1].shape = 2;
  const wire::Answer good = to_wire(1, sent);
  EXPECT_EQ(verdict(good), "accepted");
  engine::Result<Answer> read = from_wire(good);
  ASSERT_TRUE(read.ok());
  const auto& got = std::get<profiling::Activity>(read.value());
  EXPECT_EQ(got.shapes, sent.shapes);
  EXPECT_EQ(got.calls, sent.calls);
  EXPECT_EQ(got.records[1].shape, 2U);
  const auto refusal = [&good](auto&& spoil) {
    wire::Answer answer = good;
    spoil(*answer.mutable_activity());
    return verdict(answer);
  };
  using Chunk = wire::Activity;
  EXPECT_THAT(refusal([](Chunk& c) { c.mutable_records()->set_shape(1, 3); }),
              HasSubstr("records.shape"));
  EXPECT_THAT(refusal([](Chunk& c) { c.mutable_records()->set_call(0, 2); }),
              HasSubstr("records.call"));
  EXPECT_THAT(refusal([](Chunk& c) { c.mutable_calls()->set_name(0, 2); }),
              HasSubstr("calls.name"));
  EXPECT_THAT(refusal([](Chunk& c) { c.mutable_calls()->set_end_ns(0, -6); }), HasSubstr("end_ns"));
  EXPECT_THAT(refusal([](Chunk& c) { c.mutable_shapes()->add_grid_x(1); }), HasSubstr("shapes"));
}

TEST(ActivityChunks, HostileEventsAreRefused) {
  profiling::Activity activity = make_activity(1);
  add_events_to(activity, 2);
  const wire::Answer good = to_wire(1, activity);
  const auto refusal = [&good](auto&& spoil) {
    wire::Answer answer = good;
    spoil(*answer.mutable_activity()->mutable_host_events(),
          *answer.mutable_activity()->mutable_memory_events());
    return verdict(answer);
  };
  using Host = wire::HostEventColumns;
  using Memory = wire::MemoryEventColumns;
  EXPECT_EQ(refusal([](Host&, Memory&) {}), "accepted");
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_end_ns(1, -99); }),
              HasSubstr("events[1].end_ns"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_name(1, 2); }), HasSubstr("host_events.name"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_iteration(1, -2); }), HasSubstr("iteration"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_layer(1, 256); }),
              HasSubstr("host_events.layer[1]"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_kind(1, static_cast<wire::HostEventKind>(7)); }),
              HasSubstr("host_events.kind[1]"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_lane(1, 65536); }),
              HasSubstr("host_events.lane[1]"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_stage(1, static_cast<wire::Stage>(kStages)); }),
              HasSubstr("events.stage[1]"));
  EXPECT_THAT(
      refusal([](Host&, Memory& e) { e.set_operation(1, static_cast<wire::MemoryOperation>(5)); }),
      HasSubstr("operation"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_space(1, static_cast<wire::MemorySpace>(5)); }),
              HasSubstr("memory_events.space[1]"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_stage(1, static_cast<wire::Stage>(99)); }),
              HasSubstr("events.stage[1]"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_iteration(1, -5); }), HasSubstr("iteration"));
}

TEST(ActivityChunks, ARunDoesNotGetRecordsOfAnotherRun) {
  ActivityAssembler assembler;
  ASSERT_TRUE(assembler.add(3, make_activity(5)).ok());
  EXPECT_TRUE(assembler.take(4).records.empty());
  EXPECT_TRUE(assembler.take(3).records.empty());
}

TEST(ActivityChunks, HostileOnesAreRefused) {
  const wire::Answer good = to_wire(1, make_activity(4));
  const auto refusal = [&good](auto&& spoil) {
    wire::Answer answer = good;
    spoil(*answer.mutable_activity()->mutable_records());
    return verdict(answer);
  };
  using Chunk = wire::ActivityRecordColumns;
  EXPECT_EQ(refusal([](Chunk&) {}), "accepted");
  EXPECT_THAT(refusal([](Chunk& c) { c.add_start_ns(1); }),
              HasSubstr("5 of start_ns but 4 of end_ns"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_name(2, 2); }), HasSubstr("activity.records.name"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_end_ns(1, -100); }),
              HasSubstr("activity.records[1].end_ns"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_stage(1, static_cast<wire::Stage>(kStages)); }),
              HasSubstr("activity.records.stage[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_stage(1, static_cast<wire::Stage>(-1)); }),
              HasSubstr("activity.records.stage[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_kind(1, static_cast<wire::ActivityKind>(5)); }),
              HasSubstr("activity.records.kind[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_expert(1, 40000); }),
              HasSubstr("activity.records.expert[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_layer(1, 256); }),
              HasSubstr("activity.records.layer[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_lane(1, 65536); }),
              HasSubstr("activity.records.lane[1]"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_iteration(1, -2); }),
              HasSubstr("activity.records[1].iteration"));
}

}  // namespace
}  // namespace app
