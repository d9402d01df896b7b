#include "profiling/session/step_tables.h"

#include <utility>

#include "profiling/session/run_table.h"
#include "profiling/session/schema.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

std::string_view name_of(engine::Product product) {
  return kProductNames[static_cast<std::size_t>(product)];
}

engine::Status write_errors(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter errors(to, "product_errors", 6);
  if (!run.result.backward) return errors.take();
  std::int64_t expert = 0;
  for (const engine::ExpertResult& result : run.result.experts) {
    for (const auto& [product, row] : {std::pair{engine::Product::Dgrad, &result.dgrad},
                                       std::pair{engine::Product::Wgrad, &result.wgrad}}) {
      errors.row(run_id, name_of(product), expert, row->snr_db, row->max_abs_error,
                 row->reference_rms);
    }
    ++expert;
  }
  return errors.take();
}

engine::Status write_replays(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter products(to, "replay_products", 3);
  std::int64_t position = 0;
  for (const engine::ReplayCheck& check : run.result.replay_checks) {
    products.row(run_id, position++, name_of(check.product));
  }
  return products.take();
}

engine::Status write_graph_counts(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter counts(to, "graph_counts", 7);
  const engine::GraphFacts& graph = run.result.graph;
  counts.row(run_id, graph.kernels, graph.memsets, graph.copies, graph.allocations,
             graph.host_calls, graph.host_launch_ns);
  return counts.take();
}

engine::Status write_algorithms(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter algorithms(to, "algorithms", 7);
  std::int64_t position = 0;
  for (const engine::AlgorithmChoice& choice : run.result.algorithms) {
    algorithms.row(run_id, position++, name_of(choice.product), choice.candidates, choice.chosen,
                   choice.first_us, choice.chosen_us);
  }
  return algorithms.take();
}

engine::Status write_emulation(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter emulations(to, "emulations", 2);
  if (!run.result.emulated.empty()) emulations.row(run_id, run.result.emulated);
  return emulations.take();
}

engine::Status read_errors(const TableSource& source, Session& session) {
  RunTable errors(source, session, "product_errors",
                  "SELECT * FROM product_errors ORDER BY run_id, product, expert", 0);
  return errors.each([](RecordedRun& run, RowReader& rows) {
    const std::size_t product = rows.choice("product", kProductNames);
    std::vector<engine::ExpertResult>& experts = run.result.experts;
    const auto expert = rows.integer<std::size_t>("expert", 0, std::ssize(experts) - 1);
    if (!rows.ok()) return;
    if (product == 0) {
      rows.refuse("product_errors has a row of fprop, whose errors belong to the experts table");
      return;
    }
    engine::ProductAccuracyRow& row = product == 1 ? experts[expert].dgrad : experts[expert].wgrad;
    row.snr_db = rows.real_or_nan("snr_db");
    row.max_abs_error = rows.real_or_nan("max_abs_error");
    row.reference_rms = rows.real_or_nan("reference_rms");
    run.result.backward = true;
  });
}

engine::Status read_replays(const TableSource& source, Session& session) {
  RunTable products(source, session, "replay_products",
                    "SELECT * FROM replay_products ORDER BY run_id, position", 0);
  return products.each([](RecordedRun& run, RowReader& rows) {
    std::vector<engine::ReplayCheck>& checks = run.result.replay_checks;
    const auto position = rows.integer<std::size_t>("position", 0, std::ssize(checks) - 1);
    const std::size_t product = rows.choice("product", kProductNames);
    if (rows.ok()) checks[position].product = static_cast<engine::Product>(product);
  });
}

engine::Status read_graph_counts(const TableSource& source, Session& session) {
  RunTable counts(source, session, "graph_counts", "SELECT * FROM graph_counts ORDER BY run_id", 0);
  return counts.each([](RecordedRun& run, RowReader& rows) {
    engine::GraphFacts& graph = run.result.graph;
    for (const auto& [column, target] :
         {std::pair{"kernels", &graph.kernels}, std::pair{"memsets", &graph.memsets},
          std::pair{"copies", &graph.copies}, std::pair{"allocations", &graph.allocations},
          std::pair{"host_calls", &graph.host_calls}}) {
      *target = rows.integer<int>(column, 0, kMaxGraphNodes);
    }
    graph.host_launch_ns = rows.count("host_launch_ns");
  });
}

engine::Status read_algorithms(const TableSource& source, Session& session) {
  RunTable algorithms(source, session, "algorithms",
                      "SELECT * FROM algorithms ORDER BY run_id, position",
                      sizeof(engine::AlgorithmChoice));
  return algorithms.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.result.algorithms.size(), kMaxAlgorithms)) return;
    engine::AlgorithmChoice choice;
    choice.product = static_cast<engine::Product>(rows.choice("product", kProductNames));
    choice.candidates = rows.integer<int>("candidates", 0, 1000);
    choice.chosen = rows.integer<int>("chosen", 0, 1000);
    choice.first_us = rows.real("first_us");
    choice.chosen_us = rows.real("chosen_us");
    run.result.algorithms.push_back(choice);
  });
}

engine::Status read_emulations(const TableSource& source, Session& session) {
  RunTable emulations(source, session, "emulations", "SELECT * FROM emulations ORDER BY run_id", 0);
  return emulations.each(
      [](RecordedRun& run, RowReader& rows) { run.result.emulated = rows.text("reason"); });
}

}  // namespace

engine::Status read_step_tables(const TableSource& source, Session& session) {
  for (const auto read :
       {read_errors, read_replays, read_graph_counts, read_algorithms, read_emulations}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

engine::Status write_step_tables(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  for (const auto write :
       {write_errors, write_replays, write_graph_counts, write_algorithms, write_emulation}) {
    if (engine::Status status = write(to, run_id, run); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
