// Conversions both ways: nothing is lost, and nothing that is not known gets in.
#include "app/protocol/convert.h"
#include "app/protocol/convert_bench.h"
#include "app/protocol/convert_measurement.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/unit/protocol/random_message.h"

namespace app {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

constexpr unsigned kRounds = 200;

std::string difference(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  std::string text;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&text);
  differencer.Compare(a, b);
  return text;
}

/// Random histograms and maps that obey the rules a receiver checks.
void obey_rules(wire::OperandStatistics& operand) {
  for (wire::MagnitudeHistogram* histogram : {operand.mutable_before(), operand.mutable_after(),
                                              operand.mutable_amax(), operand.mutable_scale()}) {
    histogram->set_first_bin(std::abs(histogram->first_bin()) % 1000);
  }
  wire::ScaleMap& map = *operand.mutable_scale_map();
  map.set_rows(1);
  map.set_columns(map.mean_size());
  while (map.maximum_size() < map.mean_size()) map.add_maximum(1.5F);
  while (map.maximum_size() > map.mean_size()) map.mutable_maximum()->RemoveLast();
  map.mutable_deviation()->Clear();  // absent, as from an older worker
  for (auto* cells :
       {map.mutable_minimum(), map.mutable_saturated_share(), map.mutable_underflowed_share()}) {
    cells->Resize(map.mean_size(), 0.25F);
  }
  map.mutable_summary();
}

/// A random sample of one row that holds its elements.
void obey_rules(wire::QuantizationSample& sample) {
  const int columns = sample.original_size();
  sample.set_rows(1);
  sample.set_columns(columns);
  sample.set_codes(std::string(static_cast<std::size_t>(columns), '\xA5'));
  for (auto* values : {sample.mutable_scale_inv(), sample.mutable_decoded()}) {
    values->Resize(columns, 1.5F);
  }
}

/// A random request names exactly one kind of input.
void choose_inputs(wire::RunRequest& request) {
  for (wire::InputSpec* input : {request.mutable_activations(), request.mutable_weights(),
                                 request.mutable_linear()->mutable_gradients()}) {
    if (input->kind_case() == wire::InputSpec::KIND_NOT_SET) input->mutable_file()->set_path("x");
    if (!input->has_synthetic()) continue;
    if (!input->synthetic().has_element()) input->mutable_synthetic()->set_element(wire::FP16);
  }
}

TEST(Convert, RequestKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    wire::RunRequest message;
    testing::RandomMessage(seed).fill(message);
    choose_inputs(message);
    const engine::Result<engine::RunRequest> request = from_wire(message);
    ASSERT_TRUE(request.ok()) << request.error().message;
    const wire::RunRequest again = to_wire(request.value());
    ASSERT_TRUE(MessageDifferencer::Equals(message, again)) << difference(message, again);
  }
}

TEST(Convert, ResultKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    wire::RunResult message;
    testing::RandomMessage(seed).fill(message);
    choose_inputs(*message.mutable_effective());
    obey_rules(*message.mutable_activations());
    obey_rules(*message.mutable_weights());
    obey_rules(*message.mutable_gradients());
    // Only a run with a backward pass has gradients and errors of their products.
    message.set_backward(true);
    message.mutable_graph();
    for (wire::ExpertResult& expert : *message.mutable_experts()) {
      expert.mutable_dgrad();
      expert.mutable_wgrad();
    }
    const engine::Result<engine::RunResult> result = from_wire(message);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const wire::RunResult again = to_wire(result.value());
    ASSERT_TRUE(MessageDifferencer::Equals(message, again)) << difference(message, again);
  }
}

TEST(Convert, HelloKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    wire::HelloReply message;
    testing::RandomMessage(seed).fill(message);
    message.set_protocol_version(kProtocolVersion);
    message.clear_refused();
    const engine::Result<WorkerHello> hello = from_wire(message);
    ASSERT_TRUE(hello.ok()) << hello.error().message;
    EXPECT_TRUE(MessageDifferencer::Equals(message, to_wire(hello.value())));
  }
}

TEST(Convert, ReportsKeepEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    testing::RandomMessage random(seed);
    wire::RunFailed failed;
    random.fill(failed);
    failed.clear_stalled();  // a snapshot of random bytes is refused; convert_doctor_test has it
    const engine::Result<RunError> failure = from_wire(failed);
    ASSERT_TRUE(failure.ok());
    EXPECT_TRUE(MessageDifferencer::Equals(failed, to_wire(failure.value())));

    wire::FileInspected inspected;
    random.fill(inspected);
    inspected.clear_id();  // a window reads the path, not the id
    EXPECT_TRUE(MessageDifferencer::Equals(inspected, to_wire(from_wire(inspected))));

    wire::QuantizeCommand command;
    random.fill(command);
    choose_inputs(*command.mutable_request());
    command.clear_id();
    const engine::Result<QuantizeOrder> order = from_wire(command);
    ASSERT_TRUE(order.ok());
    EXPECT_TRUE(MessageDifferencer::Equals(command, to_wire(order.value())));
  }
}

TEST(Convert, ComparisonKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    wire::RecipeComparison message;
    testing::RandomMessage(seed).fill(message);
    choose_inputs(*message.mutable_request()->mutable_request());
    for (wire::QuantizationReport& report : *message.mutable_reports()) {
      obey_rules(*report.mutable_statistics());
      obey_rules(*report.mutable_sample());
      report.mutable_waste();
      for (wire::ExpertQuantization& expert : *report.mutable_experts()) expert.mutable_waste();
    }
    const engine::Result<engine::RecipeComparison> comparison = from_wire(message);
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    const wire::RecipeComparison again = to_wire(comparison.value());
    ASSERT_TRUE(MessageDifferencer::Equals(message, again)) << difference(message, again);
  }
}

TEST(Convert, AmaxHistoryKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    wire::AmaxHistory message;
    testing::RandomMessage(seed).fill(message);
    choose_inputs(*message.mutable_request()->mutable_request());
    const int steps = 1 + static_cast<int>(seed % 3);
    message.set_steps(steps);
    message.set_experts(2);
    message.set_ring_rows(3);
    for (auto* values : {message.mutable_amax(), message.mutable_history_amax(),
                         message.mutable_scale_used(), message.mutable_scale_wanted()}) {
      values->Resize(2 * steps, 0.5F);
    }
    message.mutable_rows()->Resize(2 * steps, 7);
    message.mutable_saturated()->Resize(2 * steps, 8);
    message.mutable_underflowed()->Resize(2 * steps, 9);
    message.mutable_snr_db()->Resize(2 * steps, 1.5);
    message.mutable_ring()->Resize(6 * steps, 0.25F);
    const engine::Result<engine::AmaxHistory> history = from_wire(message);
    ASSERT_TRUE(history.ok()) << history.error().message;
    const wire::AmaxHistory again = to_wire(history.value());
    ASSERT_TRUE(MessageDifferencer::Equals(message, again)) << difference(message, again);
    message.add_ring(1.0F);
    EXPECT_FALSE(from_wire(message).ok()) << "a ring of another size";
  }
}

TEST(Convert, BenchmarkKeepsEveryField) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    testing::RandomMessage random(seed);
    wire::BenchCommand command;
    random.fill(command);
    command.clear_id();
    const engine::Result<engine::BenchOrder> order = from_wire(command);
    ASSERT_TRUE(order.ok()) << order.error().message;
    EXPECT_TRUE(MessageDifferencer::Equals(command, to_wire(order.value())));

    wire::BenchStarted started;
    random.fill(started);
    EXPECT_TRUE(MessageDifferencer::Equals(started, to_wire(from_wire(started))));

    wire::BenchRow row;
    random.fill(row);
    row.set_median_us(1.5);
    const engine::Result<BenchRowReport> report = from_wire(row);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(MessageDifferencer::Equals(row, to_wire(report.value())));
    row.set_median_us(0);
    EXPECT_FALSE(from_wire(row).ok());
    row.mutable_shape()->set_routing(static_cast<wire::BenchRouting>(9));
    EXPECT_FALSE(from_wire(row).ok());

    wire::LinearBenchRow linear;
    random.fill(linear);
    linear.set_median_us(1.5);
    const engine::Result<LinearRowReport> linear_report = from_wire(linear);
    ASSERT_TRUE(linear_report.ok()) << linear_report.error().message;
    EXPECT_TRUE(MessageDifferencer::Equals(linear, to_wire(linear_report.value())));
    linear.set_median_us(0);
    linear.set_skipped("refused");
    EXPECT_TRUE(from_wire(linear).ok());
    linear.clear_skipped();
    EXPECT_FALSE(from_wire(linear).ok());
    linear.set_skipped("refused");
    linear.set_part(static_cast<wire::LinearPart>(wire::LinearPart_ARRAYSIZE));
    EXPECT_FALSE(from_wire(linear).ok());
  }
}

TEST(Convert, AbsentFieldsOfAComparisonKeepTheDefaults) {
  const engine::Result<engine::ComparisonRequest> request = from_wire(wire::ComparisonRequest());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request.value(), engine::ComparisonRequest());
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

TEST(Convert, PulseReadsEveryField) {
  wire::Pulse message;
  message.set_request_id(7);
  message.set_stage(wire::FPROP);
  message.set_iteration(3);
  message.set_iterations(9);
  message.set_expert(2);
  message.set_fraction(0.25);
  message.set_dropped_records(11);
  const profiling::PowerTrace reading = {
      .method = "instant",
      .missing = {},
      .samples = {
          {.sm_clock_mhz = 345, .memory_clock_mhz = 2619, .power_w = 118, .temperature_c = 41}}};
  *message.mutable_reading() = to_wire(reading);
  const engine::Result<PulseReport> pulse = from_wire(message);
  ASSERT_TRUE(pulse.ok());
  EXPECT_EQ(pulse.value().request_id, 7U);
  EXPECT_EQ(pulse.value().stage, engine::Stage::Fprop);
  EXPECT_EQ(pulse.value().iteration, 3);
  EXPECT_EQ(pulse.value().iterations, 9);
  EXPECT_EQ(pulse.value().expert, 2);
  EXPECT_EQ(pulse.value().fraction, 0.25);
  EXPECT_EQ(pulse.value().dropped_records, 11U);
  ASSERT_TRUE(pulse.value().reading.has_value());
  ASSERT_EQ(pulse.value().reading->samples.size(), 1U);
  EXPECT_EQ(pulse.value().reading->method, "instant");
  EXPECT_EQ(pulse.value().reading->samples[0].sm_clock_mhz, 345);
  EXPECT_EQ(pulse.value().reading->samples[0].temperature_c, 41);
  message.clear_reading();
  EXPECT_FALSE(from_wire(message).value().reading.has_value());
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
  result.mutable_effective()->set_backend(static_cast<wire::GemmBackend>(-3));
  ASSERT_FALSE(from_wire(result).ok());
  EXPECT_THAT(from_wire(result).error().message, HasSubstr("effective.backend is -3"));

  wire::Pulse pulse;
  pulse.set_stage(static_cast<wire::Stage>(99));
  EXPECT_FALSE(from_wire(pulse).ok());
}

TEST(Convert, BytesThatAreNoTextStillTravel) {
  // Protobuf would drop the whole message; a file's header or a path must not cost the worker.
  FileReport report{.path = "/data/\xE9t\xE9.npy", .error = {}, .tensors = {}};
  report.tensors.push_back(
      {.name = "w\xFF\xC0\x80", .dtype = "\xED\xA0\x80", .shape = {1}, .reason = {}});
  wire::FileInspected message;
  ASSERT_TRUE(message.ParseFromString(to_wire(report).SerializeAsString()));
  EXPECT_EQ(message.path(), "/data/?t?.npy");
  EXPECT_EQ(message.tensors(0).name(), "w???");
  EXPECT_EQ(message.tensors(0).dtype(), "???");
  report.path = "/data/\u00e9t\u00e9 \U0001F600.npy";
  EXPECT_EQ(to_wire(report).path(), report.path);
}

TEST(Convert, ScaleMapMustHoldItsCells) {
  wire::RunResult message;
  message.mutable_weights()->mutable_scale_map()->set_rows(1 << 30);
  message.mutable_weights()->mutable_scale_map()->set_columns(1 << 30);
  const engine::Result<engine::RunResult> result = from_wire(message);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("weights.scale_map"));
}

TEST(Convert, HistogramBinsMustExist) {
  wire::RunResult message;
  message.mutable_activations()->mutable_before()->set_first_bin(1023);
  message.mutable_activations()->mutable_before()->add_counts(1);
  EXPECT_TRUE(from_wire(message).ok());
  message.mutable_activations()->mutable_before()->add_counts(1);
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

TEST(ActivityChunks, PutTogetherAgain) {
  const profiling::Activity sent = make_activity(kMaxChunkRecords * 2 + 17);
  ActivityAssembler assembler;
  int chunks = 0;
  for (std::size_t first = 0; first < sent.records.size(); first += kMaxChunkRecords) {
    ASSERT_TRUE(assembler.add(make_activity_chunk(3, sent, first)).ok());
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
                a.layer == b.layer && a.kind == b.kind && a.lane == b.lane && a.stage == b.stage)
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
                                    .stage = static_cast<engine::Stage>(i % 11)});
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
                                      .stage = static_cast<engine::Stage>(i % 11),
                                      .stream_ordered = i % 2 == 1});
  }
}

TEST(ActivityChunks, EventsTravelEvenWhereTheyOutnumberTheRecords) {
  profiling::Activity sent = make_activity(3);
  add_events_to(sent, kMaxChunkRecords + 5);
  ASSERT_EQ(chunked_length(sent), kMaxChunkRecords + 5);
  ActivityAssembler assembler;
  for (std::size_t first = 0; first < chunked_length(sent); first += kMaxChunkRecords) {
    ASSERT_TRUE(assembler.add(make_activity_chunk(3, sent, first)).ok());
  }
  const profiling::Activity got = assembler.take(3);
  EXPECT_EQ(got.records.size(), 3U);
  EXPECT_EQ(got.host_events, sent.host_events);
  EXPECT_EQ(got.memory_events, sent.memory_events);
}

TEST(ActivityChunks, HostileEventsAreRefused) {
  profiling::Activity activity = make_activity(1);
  add_events_to(activity, 2);
  const wire::ActivityChunk good = make_activity_chunk(1, activity, 0);
  const auto refusal = [&good](auto&& spoil) {
    wire::ActivityChunk chunk = good;
    spoil(*chunk.mutable_host_events(1), *chunk.mutable_memory_events(1));
    const engine::Status status = ActivityAssembler().add(chunk);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  using Host = wire::HostEvent;
  using Memory = wire::MemoryEvent;
  EXPECT_EQ(refusal([](Host&, Memory&) {}), "accepted");
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_end_ns(-99); }), HasSubstr("events.end_ns"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_name(2); }), HasSubstr("host_events.name"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_iteration(-2); }), HasSubstr("iteration"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_layer(256); }), HasSubstr("events.layer"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_kind(7); }), HasSubstr("host_events.kind"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_lane(65536); }), HasSubstr("events.lane"));
  EXPECT_THAT(refusal([](Host& e, Memory&) { e.set_stage(11); }), HasSubstr("events.stage"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_operation(5); }), HasSubstr("operation"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_space(5); }), HasSubstr("events.space"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_stage(99); }), HasSubstr("events.stage"));
  EXPECT_THAT(refusal([](Host&, Memory& e) { e.set_iteration(-5); }), HasSubstr("iteration"));
}

TEST(ActivityChunks, ARunDoesNotGetAnothersRecords) {
  ActivityAssembler assembler;
  ASSERT_TRUE(assembler.add(make_activity_chunk(3, make_activity(5), 0)).ok());
  EXPECT_TRUE(assembler.take(4).records.empty());
  EXPECT_TRUE(assembler.take(3).records.empty());
}

TEST(ActivityChunks, HostileOnesAreRefused) {
  const wire::ActivityChunk good = make_activity_chunk(1, make_activity(4), 0);
  const auto refusal = [&good](auto&& spoil) {
    wire::ActivityChunk chunk = good;
    spoil(chunk);
    const engine::Status status = ActivityAssembler().add(chunk);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  using Chunk = wire::ActivityChunk;
  EXPECT_EQ(refusal([](Chunk&) {}), "accepted");
  EXPECT_THAT(refusal([](Chunk& c) { c.add_start_ns(1); }), HasSubstr("5 starts but 4"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_name(2, 2); }), HasSubstr("activity.name"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_end_ns(1, -100); }), HasSubstr("activity.end_ns"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_stage(1, 11); }), HasSubstr("activity.stage"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_stage(1, 0xFFFFFFFF); }), HasSubstr("activity.stage"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_kind(1, 5); }), HasSubstr("activity.kind"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_expert(1, 40000); }), HasSubstr("activity.expert"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_layer(1, 256); }), HasSubstr("activity.layer"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_lane(1, 65536); }), HasSubstr("activity.lane"));
  EXPECT_THAT(refusal([](Chunk& c) { c.set_iteration(1, -2); }), HasSubstr("activity.iteration"));
}

}  // namespace
}  // namespace app
