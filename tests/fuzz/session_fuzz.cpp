// Hostile recordings. An input is a script that spoils a sound one, a change a line, so that a
// finding can be read and outlives changes of the schema:
//   any SQL statement   run without SQLite's guards, on tables that take any value
//   @OFFSET HEX         these bytes at this place of the finished file
//   cut BYTES           its first bytes only
// A statement that fails changes nothing, and the script goes on.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "app/doctor/report_document.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/compare/run_comparison.h"
#include "profiling/compare/sweep_points.h"
#include "profiling/document/run_document.h"
#include "profiling/document/text.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/csv.h"
#include "profiling/hazards/report/report.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/session/layout.h"
#include "profiling/session/sqlite_handle.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/recording_check.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace fuzz {
namespace {

using profiling::Database;

constexpr std::size_t kMostScript = 4096;
constexpr std::int64_t kMostMemory = std::int64_t{64} << 20;  // that the reader is given
constexpr int kMostPages = 4096;                              // of 512 bytes
constexpr int kMostSteps = 200'000;                           // of SQLite's machine, a script

void run_or_die(sqlite3* database, const std::string& sql) {
  char* message = nullptr;
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  require(message == nullptr, "the tests' own SQL runs", message == nullptr ? "" : message);
}

Database in_memory(const std::string& file) {
  sqlite3* raw = nullptr;
  require(sqlite3_open(":memory:", &raw) == SQLITE_OK, "a database in memory opens");
  Database database(raw);
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(file.size()));
  std::copy(file.begin(), file.end(), copy);
  const auto size = static_cast<sqlite3_int64>(file.size());
  require(sqlite3_deserialize(raw, "main", copy, size, size,
                              SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
              SQLITE_OK,
          "a recording opens in memory");
  return database;
}

std::string file_of(sqlite3* database) {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(database, "main", &size, 0), sqlite3_free);
  return bytes == nullptr ? "" : std::string(bytes.get(), bytes.get() + size);
}

/// A recording with some of everything, in small pages so that it is small.
std::string make_recording() {
  const std::string path = scratch_folder() + "/sound.session";
  {
    auto writer = profiling::SessionWriter::create(path);
    require(writer.ok(), "a recording can be made");
    profiling::SessionWriter& to = *writer.value();
    for (const engine::Status& kept :
         {to.append(profiling::sample_run(0)), to.append(profiling::sample_run(1)),
          to.append(profiling::sample_comparison(0)), to.append(profiling::sample_series(0)),
          to.append(profiling::sample_visit(0)), to.set_note("title", "sample")}) {
      require(kept.ok(), "the sample can be recorded", kept.ok() ? "" : kept.error().message);
    }
  }
  sqlite3* raw = nullptr;
  require(sqlite3_open(path.c_str(), &raw) == SQLITE_OK, "a recording opens");
  const Database database(raw);
  run_or_die(raw, "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM");
  return file_of(raw);
}

const std::string& sound_recording() {
  static const std::string bytes = make_recording();
  return bytes;
}

/// The same with declarations that let every value pass. What is read later has the right ones.
const std::string& loosened_recording() {
  static const std::string bytes = [] {
    const Database database = in_memory(sound_recording());
    run_or_die(database.get(),
               "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(replace(replace("
               "sql, ' NOT NULL', ''), ') STRICT, WITHOUT', ') WITHOUT'), ') STRICT', ')')");
    return file_of(database.get());
  }();
  return bytes;
}

/// The SQL function tightened(name, sql): the declaration as the writer makes it, if sql is that
/// table's loosened one.
void tightened(sqlite3_context* context, int, sqlite3_value** arguments) {
  static const auto declarations = [] {
    std::map<std::string, std::pair<std::string, std::string>> all;  // name to loosened, true
    const auto read = [](void* to, int, char** cells, char**) {
      auto& [loosened, sound] = (*static_cast<decltype(all)*>(to))[cells[0]];
      (loosened.empty() ? loosened : sound) = cells[1];
      return 0;
    };
    for (const std::string* file : {&loosened_recording(), &sound_recording()}) {
      const Database database = in_memory(*file);
      sqlite3_exec(database.get(), "SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL", read,
                   &all, nullptr);
    }
    return all;
  }();
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  const auto* sql = reinterpret_cast<const char*>(sqlite3_value_text(arguments[1]));
  const auto found = name == nullptr ? declarations.end() : declarations.find(name);
  if (sql == nullptr || found == declarations.end() || found->second.first != sql) {
    return sqlite3_result_value(context, arguments[1]);
  }
  const std::string& sound = found->second.second;
  sqlite3_result_text(context, sound.c_str(), static_cast<int>(sound.size()), SQLITE_TRANSIENT);
}

/// A script may do what it likes to the recording and nothing else, and always the same.
int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  static const std::set<std::string_view> chance = {
      "random",       "randomblob",        "date",          "time",    "datetime",
      "julianday",    "unixepoch",         "strftime",      "changes", "current_time",
      "current_date", "current_timestamp", "load_extension"};
  switch (action) {
    case SQLITE_FUNCTION:
      return chance.contains(second) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_RECURSIVE:
    case SQLITE_CREATE_VTABLE:
      return SQLITE_DENY;
    case SQLITE_PRAGMA:
      return std::string_view(first) == "user_version" ||
                     std::string_view(first) == "application_id"
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default:
      return SQLITE_OK;
  }
}

int stop(void*) { return 1; }

std::string after_statements(const std::vector<std::string>& statements) {
  const Database database = in_memory(loosened_recording());
  sqlite3* const raw = database.get();
  run_or_die(raw, fmt::format("PRAGMA journal_mode=MEMORY; PRAGMA writable_schema=ON; PRAGMA "
                              "max_page_count={}",
                              kMostPages));
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_create_function(raw, "tightened", 2, SQLITE_UTF8, nullptr, tightened, nullptr, nullptr);
  sqlite3_set_authorizer(raw, authorize, nullptr);
  for (const std::string& sql : statements) {
    sqlite3_progress_handler(raw, kMostSteps, stop, nullptr);
    sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr);
  }
  sqlite3_progress_handler(raw, 0, nullptr, nullptr);
  sqlite3_set_authorizer(raw, nullptr, nullptr);
  sqlite3_exec(raw, "UPDATE sqlite_schema SET sql = tightened(name, sql)", nullptr, nullptr,
               nullptr);
  return file_of(raw);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t number_at(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "@OFFSET HEX"; the offset wraps, so that every one hits something.
void overwrite(std::string& file, std::string_view line) {
  const std::size_t space = line.find(' ');
  if (file.empty() || space == std::string_view::npos) return;
  std::size_t at = number_at(line.substr(1)) % file.size();
  for (std::size_t i = space + 1; i + 1 < line.size() && at < file.size(); i += 2, ++at) {
    unsigned byte = 0;
    std::from_chars(line.data() + i, line.data() + i + 2, byte, 16);
    file[at] = static_cast<char>(byte);
  }
}

std::string spoiled_file(std::string_view script) {
  std::vector<std::string> statements;
  const std::vector<std::string> lines = lines_of(script);
  const auto is_bytes = [](const std::string& line) {
    return line.starts_with('@') || line.starts_with("cut ");
  };
  std::ranges::copy_if(lines, std::back_inserter(statements), std::not_fn(is_bytes));
  std::string file = statements.empty() ? sound_recording() : after_statements(statements);
  for (const std::string& line : lines) {
    if (line.starts_with('@')) overwrite(file, line);
    if (line.starts_with("cut ")) file.resize(std::min(file.size(), number_at(line.substr(4))));
  }
  return file;
}

// Mutations.

struct FileTable {
  std::string name;
  std::vector<std::string> columns;
};

const std::vector<FileTable>& tables() {
  static const std::vector<FileTable> all = [] {
    std::vector<FileTable> found;
    const Database database = in_memory(sound_recording());
    for (const profiling::TableDefinition& table : profiling::session_tables()) {
      found.push_back({table.name, {}});
      const auto keep = [](void* to, int, char** cells, char**) {
        static_cast<FileTable*>(to)->columns.push_back(fmt::format("\"{}\"", cells[1]));
        return 0;
      };
      sqlite3_exec(database.get(), fmt::format("PRAGMA table_info({})", table.name).c_str(), keep,
                   &found.back(), nullptr);
    }
    return found;
  }();
  return all;
}

constexpr std::string_view kValues[] = {"-1",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "7",
                                        "255",
                                        "256",
                                        "1023",
                                        "1024",
                                        "65536",
                                        "1048576",
                                        "-2147483648",
                                        "2147483648",
                                        "4294967296",
                                        "1152921504606846976",
                                        "9223372036854775807",
                                        "-9223372036854775807-1",
                                        "0.5",
                                        "-1.0",
                                        "1e300",
                                        "-1e300",
                                        "9e999",
                                        "-9e999",
                                        "NULL",
                                        "''",
                                        "'shows'",
                                        "'cures'",
                                        "'kernel'",
                                        "'run'",
                                        "'visit'",
                                        "'weights'",
                                        "'fprop'",
                                        "'{}'",
                                        "'{\"seed\": -1}'",
                                        "'{'",
                                        "CAST(x'c328' AS TEXT)",
                                        "CAST(x'00' AS TEXT)",
                                        "x''",
                                        "x'00'",
                                        "x'28b52ffd0000010000'",
                                        "x'28b52ffde00000000000000010010000'",
                                        "zeroblob(100000)",
                                        "hex(zeroblob(20000))",
                                        "char(0x202e, 27, 7)"};

std::string random_statement(Dice& dice) {
  const FileTable& table = dice.pick(tables());
  const std::string& column = dice.pick(table.columns);
  const std::string& other = dice.pick(table.columns);
  const std::string_view value = dice.pick(kValues);
  const std::string one_row = fmt::format("WHERE {0} IN (SELECT {0} FROM {1} LIMIT 1 OFFSET {2})",
                                          column, table.name, dice.below(8));
  switch (dice.below(12)) {
    case 0:
      return fmt::format("DELETE FROM {} {}", table.name, one_row);
    case 1:
      return fmt::format("UPDATE OR REPLACE {} SET {} = {} + 1 {}", table.name, column, column,
                         one_row);
    case 2:
      return fmt::format("UPDATE OR IGNORE {} SET {} = {} {}", table.name, column, other, one_row);
    case 3:
      return fmt::format("UPDATE OR IGNORE {} SET {} = {}", table.name, column, value);
    case 4: {  // a copy of a row with another key
      std::string cells;
      for (const std::string& name : table.columns) {
        cells += cells.empty() ? "" : ", ";
        cells += name == column ? std::string(value) : name;
      }
      return fmt::format("INSERT OR IGNORE INTO {0} SELECT {1} FROM {0}", table.name, cells);
    }
    case 5:
      return fmt::format("DELETE FROM {}", table.name);
    case 6:
      return fmt::format("UPDATE OR IGNORE {} SET {} = CAST({} AS TEXT)", table.name, column,
                         column);
    case 7:
      if (dice.one_in(8)) return fmt::format("DROP TABLE {}", table.name);
      if (dice.one_in(8)) return fmt::format("PRAGMA user_version={}", dice.below(12));
      if (dice.one_in(4)) return fmt::format("CREATE INDEX i ON {}({})", table.name, column);
      [[fallthrough]];
    default:
      return fmt::format("UPDATE OR IGNORE {} SET {} = {} {}", table.name, column, value, one_row);
  }
}

std::string random_damage(Dice& dice) {
  if (dice.one_in(10)) return fmt::format("cut {}", dice.below(sound_recording().size()));
  // Half of them in the header or at the head of a page, where the structure is.
  const std::size_t place = dice.below(sound_recording().size());
  const std::size_t at = dice.one_in(4)   ? place % 100
                         : dice.one_in(2) ? place / 512 * 512 + dice.below(16)
                                          : place;
  return fmt::format("@{} {:02x}", at, dice.below(256));
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> scripts = {"SELECT 1", "@18 0202", "cut 512",
                                      "CREATE INDEX i ON records(stage)",
                                      "ALTER TABLE runs ADD COLUMN more TEXT"};
  // What another day's program would have written: a table less.
  for (const profiling::TableDefinition& table : profiling::session_tables()) {
    scripts.push_back(fmt::format("DROP TABLE {}\n", table.name));
  }
  return scripts;
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words = {
      "UPDATE ", "DELETE FROM ", "INSERT INTO ",  " SET ", " = ", " WHERE ", "SELECT ", "PRAGMA ",
      "@",       "cut ",         "sqlite_schema", "sql",   "\n"};
  for (const FileTable& table : tables()) words.push_back(table.name);
  for (const std::string_view value : kValues) words.emplace_back(value);
  return words;
}

}  // namespace fuzz

namespace {

/// What the window and the exports do with a recording that opened: they index into it blindly.
void use(const profiling::Session& session) {
  const std::string folder = fuzz::scratch_folder();
  if (!session.runs.empty()) {
    const engine::Status trace = profiling::export_chrome_trace(session, folder + "/trace.json");
    fuzz::require(trace.ok(), "a trace can be exported", trace.ok() ? "" : trace.error().message);
  }
  const engine::Status tables = profiling::export_csv(session, folder + "/csv");
  fuzz::require(tables.ok(), "tables can be exported", tables.ok() ? "" : tables.error().message);
  for (const profiling::RecordedRun& run : session.runs) {
    static_cast<void>(profiling::diagnose(run.snapshot, {}));
    const profiling::RecordedRun& first = session.runs.front();
    static_cast<void>(profiling::csv_text(profiling::comparison_table(
        profiling::compare_runs({&first}, {&run}, engine::Product::Fprop),
        profiling::settings_difference(first, run))));
    static_cast<void>(profiling::text_of(profiling::run_document(run, "a run")));
    static_cast<void>(profiling::sweep_point(run, engine::Product::Wgrad));
  }
  for (const profiling::RecordedVisit& visit : session.visits) {
    static_cast<void>(profiling::diagnose(visit.report.snapshot, {}));
    static_cast<void>(app::report_markdown(visit.report));
    static_cast<void>(profiling::to_json(visit.report));
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t capacity, unsigned int seed) {
  fuzz::Dice dice(seed);
  std::vector<std::string> lines = fuzz::lines_of({reinterpret_cast<const char*>(bytes), size});
  switch (lines.empty() ? 4 : dice.below(8)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size())));
      break;
    case 1: {
      std::string& line = lines[dice.below(lines.size())];
      line = fuzz::mutated(line, 400);
      break;
    }
    case 2:
      lines.push_back(fuzz::random_damage(dice));
      break;
    case 3:
      lines[dice.below(lines.size())] = fuzz::random_statement(dice);
      break;
    default:
      lines.push_back(fuzz::random_statement(dice));
  }
  std::string script;
  for (const std::string& line : lines) script += line + "\n";
  return fuzz::put_back(script, bytes, size, std::min(capacity, fuzz::kMostScript));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size > fuzz::kMostScript) return 0;
  const std::string_view script(reinterpret_cast<const char*>(bytes), size);
  const std::string file = fuzz::spoiled_file(script);
  const std::string path = fuzz::scratch_file("spoiled.session", file);
  // Few records, so that what bounds SQLite's work in proportion to them bounds it to a second.
  const profiling::SessionLimits limits{.max_records = 10'000,
                                        .max_memory_bytes = fuzz::kMostMemory};
  const auto session = [&] {
    const fuzz::CostLimit limit(file.size(), 4 * fuzz::kMostMemory);
    return profiling::open_session(path, limits);
  }();
  if (!fuzz::accepted(session)) {
    fuzz::require(session.error().message.starts_with(path), "a refusal begins with the file",
                  session.error().message);
    return 0;
  }
  // Costs more than the reading; the script's length is as good as a coin that always falls alike.
  if (size % 8 == 0) use(session.value());
  if (size % 8 != 1) return 0;
  const std::string refusal = fuzz::refusal_of_recording(session.value());
  fuzz::require(refusal.empty(), "what is read can be written", refusal);
  return 0;
}
