// A row of amax_history_steps is one expert in one step; the ring of a step is one blob, because a
// long history has millions of numbers that nobody queries one by one.
#include "profiling/session/history_tables.h"

#include <fmt/format.h>

#include <span>

#include "profiling/session/float_blob.h"
#include "profiling/session/owned_table.h"
#include "profiling/session/rules.h"
#include "profiling/session/schema.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

using HistoryTable = OwnedTable<RecordedHistory>;

std::size_t cells_of_ring(const engine::AmaxHistory& history) {
  return static_cast<std::size_t>(history.ring_rows) * static_cast<std::size_t>(history.experts);
}

engine::Status read_headers(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "amax_histories",
                 "SELECT * FROM amax_histories ORDER BY history_id", source.budget,
                 sizeof(RecordedHistory));
  while (rows.next()) {
    if (std::ssize(session.histories) == source.limits.max_runs) {
      rows.refuse(
          fmt::format("the file has more histories than the limit of {}", source.limits.max_runs));
      break;
    }
    RecordedHistory recorded;
    engine::AmaxHistory& history = recorded.history;
    engine::AmaxHistoryRequest& request = history.request;
    at_next(rows, "history_id", session.histories.size() + 1, source.limits.max_runs + 1);
    history.id = rows.integer<std::uint64_t>("order_id", RowReader::kAnyLow, RowReader::kAnyHigh);
    recorded.wall_clock_ms = rows.count("wall_clock_ms");
    request.request = request_of(rows, "request_json", source.codec);
    request.tokens = rows.count("asked_tokens");
    request.steps = rows.integer<int>("asked_steps", 1, engine::kMaxHistorySteps);
    request.outlier_step = rows.integer<int>("outlier_step", -1, engine::kMaxHistorySteps - 1);
    request.outlier_expert = rows.integer<int>("outlier_expert", 0, engine::kMaxExperts - 1);
    request.outlier_factor = rows.real("outlier_factor");
    history.steps = rows.integer<int>("steps", 0, engine::kMaxHistorySteps);
    history.experts = rows.integer<int>("experts", 0, engine::kMaxExperts);
    history.ring_rows = rows.integer<int>("ring_rows", 0, engine::kMaxHistoryLength);
    history.wall_ns = rows.count("wall_ns");
    if (!rows.ok()) break;
    session.histories.push_back(std::move(recorded));
  }
  return rows.take();
}

engine::Status read_idle(const TableSource& source, Session& session) {
  HistoryTable table(source, session.histories,
                     {.key = "history_id",
                      .table = "amax_history_idle",
                      .query = "SELECT * FROM amax_history_idle ORDER BY history_id, position",
                      .bytes_per_row = sizeof(engine::IdleExpert)});
  return table.each([](RecordedHistory& recorded, RowReader& rows) {
    std::vector<engine::IdleExpert>& idle = recorded.history.request.idle;
    constexpr std::int64_t kMost = std::int64_t{engine::kMaxHistorySteps} * engine::kMaxExperts;
    if (!at_next(rows, "position", idle.size(), kMost)) return;
    const int step = rows.integer<int>("step", 0, engine::kMaxHistorySteps - 1);
    const int expert = rows.integer<int>("expert", 0, engine::kMaxExperts - 1);
    if (rows.ok()) idle.push_back({.step = step, .expert = expert});
  });
}

engine::Status read_steps(const TableSource& source, Session& session) {
  constexpr std::size_t kRow = 4 * sizeof(float) + 4 * sizeof(std::int64_t);
  HistoryTable table(source, session.histories,
                     {.key = "history_id",
                      .table = "amax_history_steps",
                      .query = "SELECT * FROM amax_history_steps ORDER BY history_id, step, expert",
                      .bytes_per_row = kRow});
  return table.each([](RecordedHistory& recorded, RowReader& rows) {
    engine::AmaxHistory& history = recorded.history;
    const auto at = static_cast<std::int64_t>(history.rows.size());
    const std::int64_t experts = std::max(history.experts, 1);
    const std::int64_t step = at / experts;
    if (step >= history.steps) return rows.refuse("has more rows than the history has steps");
    // The key's order leaves one row only that can come next.
    static_cast<void>(rows.integer<int>("step", step, step));
    static_cast<void>(rows.integer<int>("expert", at % experts, at % experts));
    history.rows.push_back(rows.count("tokens"));
    history.amax.push_back(static_cast<float>(rows.real_or_nan("amax")));
    history.history_amax.push_back(static_cast<float>(rows.real_or_nan("history_amax")));
    history.scale_used.push_back(static_cast<float>(rows.real_or_nan("scale_used")));
    history.scale_wanted.push_back(static_cast<float>(rows.real_or_nan("scale_wanted")));
    history.saturated.push_back(static_cast<std::uint64_t>(rows.count("saturated")));
    history.underflowed.push_back(static_cast<std::uint64_t>(rows.count("underflowed")));
    history.snr_db.push_back(rows.real_or_nan("snr_db"));
  });
}

engine::Status read_rings(const TableSource& source, Session& session) {
  HistoryTable table(source, session.histories,
                     {.key = "history_id",
                      .table = "amax_history_rings",
                      .query = "SELECT * FROM amax_history_rings ORDER BY history_id, step",
                      .bytes_per_row = 0});
  return table.each([&source](RecordedHistory& recorded, RowReader& rows) {
    engine::AmaxHistory& history = recorded.history;
    const std::size_t cells = cells_of_ring(history);
    const std::size_t step = cells == 0 ? 0 : history.ring.size() / cells;
    if (!at_next(rows, "step", step, history.steps)) return;
    if (!source.budget.take(cells * sizeof(float))) {
      return rows.refuse(
          fmt::format("needs more memory than the limit of {} bytes", source.budget.limit()));
    }
    const std::vector<float> ring = cells_of(rows, "ring", cells);
    history.ring.insert(history.ring.end(), ring.begin(), ring.end());
  });
}

}  // namespace

engine::Status check_history(const RecordedHistory& recorded) {
  const engine::AmaxHistory& history = recorded.history;
  Rules rules;
  rules.status("request", engine::validate(history.request));
  rules.between("wall_clock_ms", recorded.wall_clock_ms, 0, kMaxTime_ns);
  rules.between("wall_ns", history.wall_ns, 0, kMaxTime_ns);
  rules.between("steps", history.steps, 1, history.request.steps);
  rules.between("experts", history.experts, 1, engine::kMaxExperts);
  rules.between("ring_rows", history.ring_rows, 1, engine::kMaxHistoryLength);
  if (!rules.ok()) return rules.take();
  const auto cells =
      static_cast<std::size_t>(history.steps) * static_cast<std::size_t>(history.experts);
  for (const std::size_t size :
       {history.rows.size(), history.amax.size(), history.history_amax.size(),
        history.scale_used.size(), history.scale_wanted.size(), history.saturated.size(),
        history.underflowed.size(), history.snr_db.size()}) {
    rules.require(size == cells, [&] {
      return fmt::format("{} steps of {} experts have {} rows", history.steps, history.experts,
                         size);
    });
  }
  const std::size_t ring = static_cast<std::size_t>(history.steps) * cells_of_ring(history);
  rules.require(history.ring.size() == ring, [&] {
    return fmt::format("the ring has {} numbers where {} belong", history.ring.size(), ring);
  });
  rules.size("ring", ring, engine::kMaxRingFloats);
  if (!rules.ok()) return rules.take();
  for (std::size_t i = 0; i < cells; ++i) {
    rules.between("tokens", history.rows[i], 0, engine::kMaxDimension);
    rules.count("saturated", history.saturated[i]);
    rules.count("underflowed", history.underflowed[i]);
  }
  return rules.take();
}

engine::Status read_histories(const TableSource& source, Session& session) {
  for (const auto read : {read_headers, read_idle, read_steps, read_rings}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

engine::Status write_history(const Target& to, std::int64_t history_id,
                             const RecordedHistory& recorded, const RequestCodec& codec) {
  const engine::AmaxHistory& history = recorded.history;
  const engine::AmaxHistoryRequest& request = history.request;
  TableWriter headers(to, "amax_histories", 13);
  headers.row(history_id, static_cast<std::int64_t>(history.id), recorded.wall_clock_ms,
              codec.to_json(request.request), request.tokens, request.steps, request.outlier_step,
              request.outlier_expert, request.outlier_factor, history.steps, history.experts,
              history.ring_rows, history.wall_ns);
  TableWriter idle(to, "amax_history_idle", 4);
  std::int64_t position = 0;
  for (const engine::IdleExpert& one : request.idle) {
    idle.row(history_id, position++, one.step, one.expert);
  }
  TableWriter steps(to, "amax_history_steps", 11);
  TableWriter rings(to, "amax_history_rings", 3);
  std::size_t cell = 0;
  const std::size_t ring = cells_of_ring(history);
  for (int step = 0; step < history.steps; ++step) {
    for (int expert = 0; expert < history.experts; ++expert, ++cell) {
      steps.row(history_id, step, expert, history.rows[cell],
                static_cast<double>(history.amax[cell]),
                static_cast<double>(history.history_amax[cell]),
                static_cast<double>(history.scale_used[cell]),
                static_cast<double>(history.scale_wanted[cell]), history.saturated[cell],
                history.underflowed[cell], history.snr_db[cell]);
    }
    const std::span<const float> all(history.ring);
    rings.row(history_id, step,
              compress_floats(all.subspan(static_cast<std::size_t>(step) * ring, ring)));
  }
  for (TableWriter* table : {&headers, &idle, &steps, &rings}) {
    if (engine::Status status = table->take(); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
