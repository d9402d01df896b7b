#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/controllers/run_names.h"
#include "engine/input/free_output.h"
#include "engine/model/counted.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/replaced_file.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct ExportOptions {
  std::string session;
  std::string chrome;
  std::string csv;
  std::string page;
  std::string joined;
  std::vector<std::string> others;  // recordings that follow in `joined`
  std::vector<int> runs;            // of the first one in `joined`, counted from 1; empty = all
  bool with_paths = false;
  int run = 0;  // 0 = all
  double from_ms = -std::numeric_limits<double>::infinity();
  double to_ms = std::numeric_limits<double>::infinity();
};

profiling::TraceChoice choice_of(const ExportOptions& options) {
  profiling::TraceChoice choice;
  if (options.run > 0) choice.run = static_cast<std::size_t>(options.run - 1);
  if (std::isfinite(options.from_ms)) choice.range.begin_ns = std::llround(1e6 * options.from_ms);
  if (std::isfinite(options.to_ms)) choice.range.end_ns = std::llround(1e6 * options.to_ms);
  return choice;
}

engine::Status write_page(const profiling::Session& session, const ExportOptions& options) {
  if (options.run > std::ssize(session.runs)) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("--run is {}; {} has {}", options.run, session.path,
                                     engine::counted(session.runs.size(), "run"))};
  }
  PageContent content = page_content(
      session, [](const profiling::RecordedRun& run) -> std::string_view { return run.name; });
  if (options.run > 0) {
    content = {.runs = {content.runs[static_cast<std::size_t>(options.run - 1)]}};
  }
  content.doubt = session.doubt;
  const std::string title =
      "Expertscope: " + std::filesystem::path(session.path).filename().string();
  ENGINE_ASSIGN(profiling::ReplacedFile file, profiling::ReplacedFile::create(options.page));
  file.write(recording_page(content, title, options.with_paths));
  return file.commit();
}

/// The recordings, one after the other, in a new one.
engine::Status write_joined(profiling::Session session, const ExportOptions& options) {
  if (!options.runs.empty()) {
    std::vector<profiling::RecordedRun> chosen;
    for (const int run : options.runs) {
      if (run > std::ssize(session.runs)) {
        return engine::Error{engine::ErrorCode::InvalidArgument,
                             fmt::format("--runs has {}; {} has {}", run, session.path,
                                         engine::counted(session.runs.size(), "run"))};
      }
      chosen.push_back(session.runs[static_cast<std::size_t>(run - 1)]);
    }
    session.runs = std::move(chosen);
  }
  std::vector<profiling::Session> others;
  for (const std::string& path : options.others) {
    ENGINE_ASSIGN(others.emplace_back(), profiling::open_session(path));
    warn_if_incomplete(path, others.back().doubt);
  }
  ENGINE_ASSIGN(const std::unique_ptr<profiling::SessionWriter> writer,
                profiling::SessionWriter::create(options.joined));
  const auto append = [&writer](const profiling::Session& one) {
    engine::Status status;
    profiling::for_each_kind(one, [&]<class Recorded>(const std::vector<Recorded>& records) {
      for (const Recorded& record : records) {
        if (status.ok()) status = writer->append(record);
      }
    });
    return status;
  };
  const auto append_all = [&]() -> engine::Status {
    ENGINE_TRY(append(session));
    for (const profiling::Session& other : others) ENGINE_TRY(append(other));
    return {};
  };
  const engine::Status appended = append_all();
  ENGINE_TRY(writer->close());
  return appended;
}

/// A range that holds nothing would give a trace that says nothing.
engine::Status check_range(const profiling::Session& session, const ExportOptions& options) {
  if (options.chrome.empty() || !std::isfinite(options.from_ms)) return {};
  const profiling::TraceChoice choice = choice_of(options);
  if (choice.run && *choice.run >= session.runs.size()) return {};  // refused with its own words
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (choice.run && *choice.run != i) continue;
    for (const profiling::ActivityRecord& record : session.runs[i].activity.records) {
      last_ns = std::max(last_ns, record.start_ns);
    }
  }
  if (choice.range.begin_ns <= last_ns) return {};
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("--from is {} ms; the last record starts at {:.3f} ms",
                                   options.from_ms, 1e-6 * static_cast<double>(last_ns))};
}

int export_session(const ExportOptions& options) {
  if (options.run > 0 && options.chrome.empty() && options.page.empty()) {
    return report({.code = engine::ErrorCode::InvalidArgument,
                   .message = "--run requires --chrome or --html: the tables are of all runs"});
  }
  if (options.from_ms >= options.to_ms) {
    return report({.code = engine::ErrorCode::InvalidArgument,
                   .message = fmt::format("--from is {} ms; it must be less than --to, {} ms",
                                          options.from_ms, options.to_ms)});
  }
  const engine::Result<profiling::Session> session = profiling::open_session(options.session);
  if (!session.ok()) return report(session.error());
  warn_if_incomplete(options.session, session.value().doubt);
  for (const std::string& file : {options.chrome, options.page, options.joined}) {
    if (file.empty()) continue;
    if (const engine::Status free = engine::require_new_file(file); !free.ok()) {
      return report(free.error());
    }
  }
  if (const engine::Status range = check_range(session.value(), options); !range.ok()) {
    return report(range.error());
  }
  if (!options.csv.empty()) {
    if (const engine::Status free = engine::require_empty_folder(options.csv); !free.ok()) {
      return report(free.error());
    }
  }
  if (!options.chrome.empty()) {
    const engine::Status written =
        profiling::export_chrome_trace(session.value(), options.chrome, choice_of(options));
    if (!written.ok()) return report(written.error());
    print("{}\n", options.chrome);
  }
  if (!options.csv.empty()) {
    const engine::Status written = profiling::export_csv(session.value(), options.csv);
    if (!written.ok()) return report(written.error());
    print("{}\n", options.csv);
  }
  if (!options.page.empty()) {
    const engine::Status written = write_page(session.value(), options);
    if (!written.ok()) return report(written.error());
    print("{}\n", options.page);
  }
  if (!options.joined.empty()) {
    const engine::Status written = write_joined(session.value(), options);
    if (!written.ok()) return report(written.error());
    print("{}\n", options.joined);
  }
  return kExitOk;
}

}  // namespace

void add_export_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "export",
      "Write a recording as a page to share, a Chrome trace, CSV tables, or several as one");
  const auto options = std::make_shared<ExportOptions>();
  command.add_option("session", options->session, "Recording")->required()->check(existing_file());
  CLI::Option_group* targets = command.add_option_group("Targets");
  CLI::Option* chrome =
      targets->add_option("--chrome", options->chrome, "Trace for Perfetto or chrome://tracing")
          ->option_text("OUT.json");
  targets
      ->add_option("--csv", options->csv,
                   "Folder for the tables: runs.csv, records.csv, iterations.csv, kernels.csv, "
                   "experts.csv, expert_times.csv and others, one per table")
      ->option_text("DIR");
  CLI::Option* page =
      targets
          ->add_option("--html", options->page,
                       "One page for people without the program: charts, tables, findings, the "
                       "requests; no script, nothing loaded from elsewhere")
          ->option_text("OUT.html");
  CLI::Option* joined =
      targets
          ->add_option("--session", options->joined,
                       "A recording with everything of this one, then of those of --add")
          ->option_text("OUT.session");
  targets->require_option(1, 4);
  command
      .add_option("--add", options->others, "Another recording, whose runs follow; may be repeated")
      ->option_text("FILE")
      ->needs(joined)
      ->check(existing_file());
  command
      .add_option(
          "--runs", options->runs,
          "Recording: only these runs of the first one, counted from 1, with commas between")
      ->option_text("LIST")
      ->delimiter(',')
      ->needs(joined)
      ->check(at_least(1));
  command
      .add_flag("--with-paths", options->with_paths,
                "Page: also folders, this machine's name and its user's, which are left out "
                "otherwise")
      ->needs(page);
  command.add_option("--run", options->run, "Page and Chrome trace: only this run, counted from 1")
      ->option_text("N")
      ->check(at_least(1));
  // Well below an overflow in nanoseconds.
  const CLI::Validator time = between(-1e12, 1e12);
  command
      .add_option("--from", options->from_ms,
                  "Chrome trace: only what starts at or after this time, in milliseconds since the "
                  "first iteration")
      ->option_text("MS")
      ->needs(chrome)
      ->check(time);
  command.add_option("--to", options->to_ms, "Chrome trace: only what starts before this time")
      ->option_text("MS")
      ->needs(chrome)
      ->check(time);
  command.callback([options, &chosen] { chosen = [options] { return export_session(*options); }; });
}

}  // namespace app::cli
