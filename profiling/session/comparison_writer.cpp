// One comparison as rows, in the order of the schema.
#include <cstring>
#include <span>

#include "profiling/session/comparison_tables.h"
#include "profiling/session/float_blob.h"
#include "profiling/session/numerics_tables.h"
#include "profiling/session/schema.h"

namespace profiling {
namespace {

template <std::size_t kSize, class Enum>
std::string_view name_of(const std::array<std::string_view, kSize>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

/// A row of a table whose middle columns are a recipe.
template <class... Rest>
void recipe_row(TableWriter& table, std::int64_t comparison_id, std::int64_t position,
                const engine::Recipe& recipe, const Rest&... rest) {
  table.row(comparison_id, position, name_of(kScalingNames, recipe.scaling),
            name_of(kFormatNames, recipe.activation_format), recipe.pow2_scales,
            static_cast<double>(recipe.amax_epsilon), recipe.split_accumulator,
            recipe.delayed.history_length, name_of(kAlgorithmNames, recipe.delayed.algorithm),
            recipe.delayed.margin, recipe.square_weight_blocks, recipe.hadamard,
            recipe.stochastic_rounding, rest...);
}

std::vector<std::byte> bytes_of(const std::vector<std::uint8_t>& codes) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(codes));
  return {bytes.begin(), bytes.end()};
}

class ComparisonWriter {
 public:
  ComparisonWriter(const Target& to, std::int64_t id) : to_(to), id_(id) {}

  void write(const RecordedComparison& recorded, const RequestCodec& codec) {
    const engine::RecipeComparison& comparison = recorded.comparison;
    const engine::ComparisonRequest& request = comparison.request;
    const engine::DeviceFacts& device = comparison.device;
    const std::size_t operand = request.weights ? 1 : request.gradients ? 2 : 0;
    comparisons_.row(id_, static_cast<std::int64_t>(comparison.id), recorded.wall_clock_ms,
                     codec.to_json(request.request), kOperandNames[operand], request.sample_row,
                     request.sample_column, request.timed_launches, device.name, device.driver,
                     device.compute_capability, device.cublaslt_version, device.cublaslt_path,
                     device.blas, device.multiprocessors, device.memory_bytes,
                     comparison.copy_bytes, comparison.wall_ns);
    std::int64_t position = 0;
    for (const engine::Recipe& recipe : request.recipes) {
      recipe_row(recipes_, id_, position++, recipe);
    }
    position = 0;
    for (const std::int64_t tokens : comparison.splits) splits_.row(id_, position++, tokens);
    position = 0;
    for (const std::int64_t time : comparison.copy_times_ns) copies_.row(id_, position++, time);
    position = 0;
    for (const engine::QuantizationReport& report : comparison.reports) {
      write_report(position++, report);
    }
  }

  engine::Status take() {
    for (TableWriter* table : {&comparisons_, &recipes_, &splits_, &copies_, &reports_, &times_,
                               &codes_, &histograms_, &bins_, &maps_, &map_experts_, &samples_}) {
      if (engine::Status status = table->take(); !status.ok()) return status;
    }
    return {};
  }

 private:
  void write_report(std::int64_t position, const engine::QuantizationReport& report) {
    const engine::OperandStatistics& statistics = report.statistics;
    recipe_row(reports_, id_, position, report.recipe, kDirectionNames[report.columnwise ? 1 : 0],
               report.refused, statistics.elements, statistics.saturated, statistics.underflowed,
               statistics.snr_db, report.max_relative_error, report.max_ulp, report.code_bytes,
               report.scale_bytes, report.moved_bytes, report.code_counts.size(),
               report.time_method);
    std::int64_t launch = 0;
    for (const std::int64_t time : report.times_ns) times_.row(id_, position, launch++, time);
    std::int64_t code = 0;
    for (const std::uint64_t count : report.code_counts) {
      if (count != 0) codes_.row(id_, position, code, count);
      ++code;
    }
    write_histograms(position, statistics);
    const engine::ScaleMap& map = statistics.scale_map;
    maps_.row(id_, position, map.block_rows, map.block_columns, map.source_rows, map.source_columns,
              map.rows, map.columns, compress_floats(map.mean), compress_floats(map.maximum));
    std::int64_t expert = 0;
    for (const std::int64_t row : map.expert_first_row) {
      map_experts_.row(id_, position, expert++, row);
    }
    const engine::QuantizationSample& sample = report.sample;
    samples_.row(id_, position, sample.row, sample.column, sample.rows, sample.columns,
                 compress_floats(sample.original), bytes_of(sample.codes),
                 compress_floats(sample.scale_inv), compress_floats(sample.decoded));
  }

  void write_histograms(std::int64_t position, const engine::OperandStatistics& statistics) {
    std::size_t kind_name = 0;
    for (const engine::MagnitudeHistogram* histogram :
         {&statistics.before, &statistics.after, &statistics.amax, &statistics.scale}) {
      const std::string_view kind = kHistogramKinds[kind_name++];
      histograms_.row(id_, position, kind, histogram->first_bin, histogram->counts.size(),
                      histogram->zeros, histogram->infinities, histogram->nans);
      int bin = histogram->first_bin;
      for (const std::uint64_t count : histogram->counts) {
        if (count != 0) bins_.row(id_, position, kind, bin, histogram_lower_edge(bin), count);
        ++bin;
      }
    }
  }

  const Target& to_;
  std::int64_t id_;
  TableWriter comparisons_{to_, "comparisons", 18};
  TableWriter recipes_{to_, "comparison_recipes", 13};
  TableWriter splits_{to_, "comparison_splits", 3};
  TableWriter copies_{to_, "comparison_copies", 3};
  TableWriter reports_{to_, "comparison_reports", 26};
  TableWriter times_{to_, "comparison_times", 4};
  TableWriter codes_{to_, "comparison_codes", 4};
  TableWriter histograms_{to_, "comparison_histograms", 8};
  TableWriter bins_{to_, "comparison_histogram_bins", 6};
  TableWriter maps_{to_, "comparison_scale_maps", 10};
  TableWriter map_experts_{to_, "comparison_scale_map_experts", 4};
  TableWriter samples_{to_, "comparison_samples", 10};
};

}  // namespace

engine::Status write_comparison(const Target& to, std::int64_t comparison_id,
                                const RecordedComparison& recorded, const RequestCodec& codec) {
  ComparisonWriter writer(to, comparison_id);
  writer.write(recorded, codec);
  engine::Status status = writer.take();
  return status.ok() ? write_comparison_numerics(to, comparison_id, recorded.comparison)
                     : std::move(status);
}

}  // namespace profiling
