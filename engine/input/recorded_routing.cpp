// Steps out of one layer's rows: counts as they are, ids counted. Every number is checked before
// it is used as an index or added up.
#include "engine/input/recorded_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/input/routing_kind.h"
#include "engine/input/routing_layers.h"
#include "engine/input/routing_numbers.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace engine {
namespace {

/// Rows that tell whether a layer has experts at all.
constexpr std::int64_t kRowsOfPlaceholders = 64;

Error refuse_routing(const RoutingSpec& spec, const std::string& why) {
  return routing_error(spec.path, why);
}

/// What a Reader reads from; all of it outlives the reader.
struct ReaderInput {
  const RoutingSpec& spec;
  const RoutedNumbers& numbers;
  const RoutedLayer& layer;
  const ReadOptions& options;
};

class Reader {
 public:
  Reader(const ReaderInput& input, int num_experts)
      : spec_(input.spec),
        numbers_(input.numbers),
        layer_(input.layer),
        options_(input.options),
        experts_(num_experts) {}

  Result<RoutingSteps> read() {
    RoutingSteps recorded{.source = layer_.source,
                          .numbers = layer_.numbers,
                          .experts = 0,
                          .layers = layer_.layers,
                          .file_steps = 0,
                          .steps = {}};
    ENGINE_TRY(check_sizes());
    ENGINE_TRY(counts() ? take_columns() : take_experts());
    recorded.experts =
        counts() ? static_cast<int>(layer_.pieces.front().columns) : std::max(highest_ + 1, 1);
    for (const RoutedRows& piece : layer_.pieces) {
      first_step_of_.push_back(recorded.file_steps);
      recorded.file_steps += steps_of(piece);
    }
    ENGINE_ASSIGN(const std::int64_t chosen, check_steps(recorded.file_steps));
    recorded.steps.reserve(static_cast<std::size_t>(chosen));
    for (std::int64_t i = 0; i < chosen; ++i) {
      ENGINE_TRY(check_cancel());
      ENGINE_ASSIGN(RecordedStep step, read_step((spec_.first_step + i) % recorded.file_steps));
      recorded.steps.push_back(std::move(step));
      if (!options_.with_choices || counts()) continue;
      recorded.top_k = static_cast<int>(layer_.pieces.front().columns);
      recorded.token_experts.push_back(choices_of((spec_.first_step + i) % recorded.file_steps));
    }
    ENGINE_TRY(check_routed(recorded));
    return recorded;
  }

 private:
  struct NamedExpert {
    std::int64_t token = 0;
    std::int64_t id = 0;
  };

  bool counts() const { return layer_.numbers == RoutingNumbers::Counts; }

  Status check_cancel() const {
    if (options_.cancel == nullptr || !options_.cancel->load(std::memory_order_relaxed)) return {};
    return Error{ErrorCode::Cancelled, shown_path(spec_.path) + " is no longer needed"};
  }

  std::int64_t steps_of(const RoutedRows& piece) const {
    if (counts()) return piece.rows;
    if (piece.rows == 0) return 0;
    return spec_.tokens_per_step == 0 ? 1 : (piece.rows - 1) / spec_.tokens_per_step + 1;
  }

  Status check_sizes() const {
    std::int64_t numbers = 0;
    for (const RoutedRows& piece : layer_.pieces) {
      numbers += piece.rows * piece.columns;
      if (numbers <= kMaxLayerNumbers) continue;
      return refuse_routing(
          spec_, fmt::format("a layer of {} holds more than {} numbers, the most that are read: "
                             "save fewer tokens",
                             layer_.source, kMaxLayerNumbers));
    }
    if (!counts() || spec_.tokens_per_step == 0) return {};
    return refuse_routing(
        spec_, fmt::format("routing.tokens_per_step is {}, but {} has its own steps: set it to 0",
                           spec_.tokens_per_step, layer_.source));
  }

  Status take_columns() {
    const std::int64_t columns = layer_.pieces.front().columns;
    if (columns < 1 || columns > kMaxExperts) {
      return refuse_routing(spec_, fmt::format("it has {} splits; 1 to {} experts are supported",
                                               columns, kMaxExperts));
    }
    if (experts_ == 0) experts_ = static_cast<int>(columns);
    if (columns == experts_) return {};
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} holds {} splits but the shape has {} experts; set the experts to {}",
                    shown_path(spec_.path), columns, experts_, columns)};
  }

  /// The highest id, so that every one is known to fit before they are counted.
  Status take_experts() {
    const int limit = experts_ == 0 ? kMaxExperts : experts_;
    std::int64_t tokens = 0;
    std::int64_t placeholders = 0;
    std::optional<NamedExpert> beyond;  // the first that does not fit
    std::int64_t highest = -1;
    for (const RoutedRows& piece : layer_.pieces) {
      for (std::int64_t row = 0; row < piece.rows; ++row) {
        ENGINE_TRY(check_cancel());
        if (is_placeholder(piece, row)) {
          ++placeholders;
          continue;
        }
        for (std::int64_t column = 0; column < piece.columns; ++column) {
          const std::int64_t id = piece.at(row, column);
          highest = std::max(highest, id);
          if (id >= limit && !beyond) beyond = NamedExpert{tokens + row, id};
        }
      }
      tokens += piece.rows;
    }
    if (beyond) return too_high(*beyond, limit, highest);
    if (placeholders > 0 && placeholders == tokens) return no_experts();
    highest_ = static_cast<int>(highest);
    if (experts_ == 0) experts_ = std::max(highest_ + 1, 1);
    return {};
  }

  /// `highest`: of all, so that one remedy suffices.
  Error too_high(const NamedExpert& first, int limit, std::int64_t highest) const {
    if (highest >= kMaxExperts) {
      return refuse_routing(
          spec_, fmt::format("token {} of {} names expert {}; at most {} experts are possible. If "
                             "these are rows per expert, set routing.numbers to counts",
                             first.token, layer_.source, first.id, kMaxExperts));
    }
    return refuse_routing(
        spec_, fmt::format("token {} of {} chose expert {}, but the shape has {} experts; set the "
                           "experts to at least {}, or, if these are rows per expert, "
                           "routing.numbers to counts",
                           first.token, layer_.source, first.id, limit, highest + 1));
  }

  /// Every token names one expert top_k times.
  Status no_experts() const {
    for (int layer = 0; layer < layer_.layers; ++layer) {
      ENGINE_TRY(check_cancel());
      const Result<RoutedLayer> other = layer_of(numbers_, layer);
      if (!other.ok() || other.value().pieces.empty()) break;
      const RoutedRows& piece = other.value().pieces.front();
      for (std::int64_t row = 0; row < std::min(piece.rows, kRowsOfPlaceholders); ++row) {
        if (is_placeholder(piece, row)) continue;
        return refuse_routing(
            spec_, fmt::format("every token of layer {} names the same expert {} times, as is "
                               "written for a layer without experts; set routing.layer to {}",
                               spec_.layer, piece.columns, layer));
      }
    }
    return refuse_routing(spec_, fmt::format("every token of layer {} names one expert several "
                                             "times, so nothing is routed",
                                             spec_.layer));
  }

  /// How many steps are replayed.
  Result<std::int64_t> check_steps(std::int64_t file_steps) const {
    if (file_steps == 0) return refuse_routing(spec_, layer_.source + " holds no step");
    if (spec_.first_step >= file_steps) {
      return refuse_routing(
          spec_,
          fmt::format("routing.first_step is {}, but the file has {} step{}; choose 0 to {}",
                      spec_.first_step, file_steps, file_steps == 1 ? "" : "s", file_steps - 1));
    }
    if (spec_.steps > file_steps) {
      return refuse_routing(
          spec_, fmt::format("routing.steps is {}, but the file has {}; set it to at most that, or "
                             "0 for all",
                             spec_.steps, file_steps));
    }
    const std::int64_t chosen = spec_.steps == 0 ? file_steps : spec_.steps;
    const std::int64_t most =
        std::min<std::int64_t>(kMaxRecordedSteps, kMaxRecordedSplits / std::max(experts_, 1));
    if (chosen <= most) return chosen;
    return refuse_routing(
        spec_, fmt::format("{} steps of {} experts are too many; at most {} are replayed: set "
                           "routing.steps to {} or less{}",
                           chosen, experts_, most, most,
                           counts() ? "" : ", or routing.tokens_per_step to more"));
  }

  /// Without a row there is nothing to run or to compare.
  Status check_routed(const RoutingSteps& recorded) const {
    if (recorded.largest_step() > 0) return {};
    const bool all = std::ssize(recorded.steps) == recorded.file_steps;
    return refuse_routing(
        spec_, fmt::format("{} of {} {}, so that no expert has a row: {}",
                           counts() ? "all rows per expert" : "all choices",
                           all ? fmt::format("layer {}", spec_.layer)
                               : fmt::format("the {} chosen steps", recorded.steps.size()),
                           counts() ? "are 0" : "are dropped (negative, or placeholders)",
                           all ? (layer_.layers > 1 ? "choose another layer or file"
                                                    : "choose another file")
                               : "choose others with routing.first_step and routing.steps"));
  }

  /// The piece of a step, and its number there.
  std::pair<const RoutedRows&, std::int64_t> place_of(std::int64_t number) const {
    const auto after = std::ranges::upper_bound(first_step_of_, number);
    // Pieces without rows begin where the next one does.
    const auto index = static_cast<std::size_t>(after - first_step_of_.begin()) - 1;
    return {layer_.pieces[index], number - first_step_of_[index]};
  }

  std::int64_t tokens_of_step(const RoutedRows& piece) const {
    return spec_.tokens_per_step == 0 ? piece.rows : spec_.tokens_per_step;
  }

  std::vector<std::int32_t> choices_of(std::int64_t number) const {
    const auto [piece, within] = place_of(number);
    const std::int64_t tokens = tokens_of_step(piece);
    const std::int64_t end = std::min((within + 1) * tokens, piece.rows);
    std::vector<std::int32_t> experts;
    for (std::int64_t row = within * tokens; row < end; ++row) {
      const bool dropped = is_placeholder(piece, row);
      for (std::int64_t column = 0; column < piece.columns; ++column) {
        // Every id was checked against the experts; whatever is negative is dropped.
        const std::int64_t id = dropped ? -1 : std::max<std::int64_t>(piece.at(row, column), -1);
        experts.push_back(static_cast<std::int32_t>(id));
      }
    }
    return experts;
  }

  Result<RecordedStep> read_step(std::int64_t number) const {
    const auto [piece, within] = place_of(number);
    RecordedStep step;
    step.step = number;
    step.splits.assign(static_cast<std::size_t>(experts_), 0);
    if (counts()) {
      ENGINE_TRY(copy_counts(piece, within, step));
    } else {
      const std::int64_t tokens = tokens_of_step(piece);
      ENGINE_TRY(
          count_ids(piece, within * tokens, std::min((within + 1) * tokens, piece.rows), step));
    }
    step.rows = std::accumulate(step.splits.begin(), step.splits.end(), std::int64_t{0});
    if (step.rows > kMaxDimension) {
      return refuse_routing(
          spec_,
          fmt::format("step {} has {} rows; at most {} are possible{}", number, step.rows,
                      kMaxDimension, counts() ? "" : ": set routing.tokens_per_step to fewer"));
    }
    if (step.rows + step.dropped > kMaxDimension) {
      return refuse_routing(
          spec_, fmt::format("step {} has {} choices, dropped ones included; at most {} are "
                             "possible: set routing.tokens_per_step to fewer",
                             number, step.rows + step.dropped, kMaxDimension));
    }
    step.imbalance = imbalance_of(step.splits);
    return step;
  }

  Status copy_counts(const RoutedRows& piece, std::int64_t row, RecordedStep& step) const {
    for (std::int64_t expert = 0; expert < piece.columns; ++expert) {
      const std::int64_t rows = piece.at(row, expert);
      if (rows < 0 || rows > kMaxDimension) {
        return refuse_routing(
            spec_,
            fmt::format("the split of expert {} is {}{}; it must be between 0 and {}", expert, rows,
                        step.step > 0 ? fmt::format(" in step {}", step.step) : "", kMaxDimension));
      }
      step.splits[static_cast<std::size_t>(expert)] = rows;
    }
    return {};
  }

  Status count_ids(const RoutedRows& piece, std::int64_t first, std::int64_t end,
                   RecordedStep& step) const {
    for (std::int64_t row = first; row < end; ++row) {
      ENGINE_TRY(check_cancel());
      if (is_placeholder(piece, row)) {
        step.dropped += piece.columns;
        continue;
      }
      for (std::int64_t column = 0; column < piece.columns; ++column) {
        const std::int64_t id = piece.at(row, column);
        ++(id < 0 ? step.dropped : step.splits[static_cast<std::size_t>(id)]);
      }
    }
    return {};
  }

  const RoutingSpec& spec_;
  const RoutedNumbers& numbers_;
  const RoutedLayer& layer_;
  const ReadOptions options_;
  int experts_;
  int highest_ = -1;
  std::vector<std::int64_t> first_step_of_;  // a piece
};

}  // namespace

std::int64_t RoutingSteps::largest_step() const {
  std::int64_t rows = 0;
  for (const RecordedStep& step : steps) rows = std::max(rows, step.rows);
  return rows;
}

std::int64_t RoutingSteps::largest_choices() const {
  std::int64_t choices = 0;
  for (const RecordedStep& step : steps) choices = std::max(choices, step.rows + step.dropped);
  return choices;
}

std::int64_t RoutingSteps::dropped() const {
  std::int64_t choices = 0;
  for (const RecordedStep& step : steps) choices += step.dropped;
  return choices;
}

Result<RoutingSteps> read_recorded_routing(const RoutingSpec& spec, int num_experts,
                                           const ReadOptions& options) {
  ENGINE_ASSIGN(const RoutingFile file, read_routing_file(spec.path));
  ENGINE_ASSIGN(const RoutedNumbers numbers, meant_numbers(spec, file));
  ENGINE_ASSIGN(const RoutedLayer layer, layer_of(numbers, spec.layer));
  if (layer.pieces.empty()) return refuse_routing(spec, layer.source + " holds no step");
  const ReaderInput input{.spec = spec, .numbers = numbers, .layer = layer, .options = options};
  return Reader(input, num_experts).read();
}

Result<RoutingFacts> inspect_routing(const RoutingSpec& spec, const std::atomic<bool>* cancel) {
  ENGINE_ASSIGN(const RoutingSteps recorded, read_recorded_routing(spec, 0, {.cancel = cancel}));
  return RoutingFacts{.source = recorded.source,
                      .numbers = recorded.numbers,
                      .experts = recorded.experts,
                      .layers = recorded.layers,
                      .file_steps = recorded.file_steps,
                      .steps = static_cast<int>(recorded.steps.size()),
                      .largest_step = recorded.largest_step(),
                      .dropped = recorded.dropped(),
                      .largest_choices = recorded.largest_choices()};
}

std::int64_t needed_rows(const RunRequest& request, std::int64_t largest_step,
                         std::int64_t largest_choices) {
  const int top_k = request.expert_layer.top_k;
  if (!is_expert_layer(request) || top_k == 0) return largest_step;
  return (largest_choices + top_k - 1) / top_k * top_k;
}

RunRequest fitted_to_routing(RunRequest request, const RoutingFacts& facts) {
  const ShapeSpec before = request.shape;
  // Ids name at least this many experts; a router with more experts may not have used the last
  // ones.
  request.shape.num_experts = facts.experts;
  request.shape.rows = needed_rows(request, facts.largest_step, facts.largest_choices);
  if (!(request.shape == before)) request.shape.preset.clear();
  if (facts.steps > 1) {
    // A pass over the steps either quantizes the weights or keeps them (model/weight_reuse.h).
    request.launch.iterations =
        std::max(request.launch.iterations,
                 std::min(facts.steps * request.products.weight_reuse, kMaxIterations));
  }
  return request;
}

}  // namespace engine
