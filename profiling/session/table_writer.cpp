#include "profiling/session/table_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/input/value_json.h"
#include "engine/model/text.h"
#include "engine/model/values.h"
#include "profiling/session/layout.h"
#include "profiling/session/row_reader.h"

namespace profiling {
namespace {

using engine::Kind;
using engine::Type;
using Form = StoredColumn::Form;

static_assert(std::endian::native == std::endian::little, "packed lists are little-endian");

const char* at(const void* record, std::size_t offset) {
  return static_cast<const char*>(record) + offset;
}

const void* data_of(const Type& list, const void* value) {
  return list.list.data(const_cast<void*>(value));
}

bool is_zero(const Type& type, const void* value) {
  const auto* bytes = static_cast<const std::byte*>(value);
  return std::all_of(bytes, bytes + type.size, [](std::byte byte) { return byte == std::byte{}; });
}

}  // namespace

RecordWriter::RecordWriter(const Target& to, const Layout& layout)
    : to_(to), layout_(layout), statements_(layout.tables.size()) {
  for (const auto& table : layout.tables) parts_.push_back(layout.parts_of(*table));
}

engine::Status RecordWriter::write(std::int64_t id, const void* record) {
  keys_ = {id};
  write_row(layout_.root(), id, nullptr, record);
  return std::move(status_);
}

engine::Status RecordWriter::replace(std::string_view table, std::int64_t id, const void* record) {
  for (const StoredTable* part : parts_.front()) {
    if (part->name != table) continue;
    auto old = Statement::prepare(
        to_.database, to_.path,
        fmt::format("DELETE FROM \"{}\" WHERE \"{}\" = ?", table, layout_.root().key));
    if (!old.ok()) return old.error();
    status_ = old.value().integer(id).execute();
    keys_ = {id};
    if (status_.ok()) write_table(*part, record);
  }
  return std::move(status_);
}

void RecordWriter::write_parts(const StoredTable& table, const void* record) {
  for (const StoredTable* part : parts_[table.number]) {
    if (status_.ok()) write_table(*part, record);
  }
}

/// All rows of an owner.
void RecordWriter::write_table(const StoredTable& table, const void* owner) {
  const StoredTable::Place& place = table.places.front();
  switch (table.rows) {
    case StoredTable::Rows::Recorded:
      return;
    case StoredTable::Rows::Entries:
      return write_entries(table, owner);
    case StoredTable::Rows::Members:
      for (const StoredTable::Place& member : table.places) {
        keys_.emplace_back(member.member);
        write_row(table, keys_.back(), owner, at(owner, member.offset));
        keys_.pop_back();
      }
      return;
    case StoredTable::Rows::Alternative: {
      const void* value = at(owner, place.offset);
      const void* held = nullptr;
      if (place.type->kind == Kind::Optional) {
        held = place.type->maybe.value(value);
      } else if (place.type->choice.index(value) == table.alternative) {
        held = place.type->choice.chosen(const_cast<void*>(value));
      }
      if (held != nullptr) write_row(table, keys_.back(), owner, held);
      return;
    }
  }
}

/// A row that is a record, and what the record owns.
void RecordWriter::write_row(const StoredTable& table, const Key& key, const void* owner,
                             const void* record) {
  Statement* statement = statement_of(table);
  if (statement == nullptr) return;
  bind_keys(table);
  for (const StoredColumn& column : table.columns) bind(table, column, at(record, column.offset));
  if (!table.derived.empty()) write_derived(table, owner, std::get<std::int64_t>(key));
  finish(table);
  write_parts(table, record);
}

void RecordWriter::write_entries(const StoredTable& table, const void* owner) {
  const StoredTable::Place& first = table.places.front();
  const std::size_t size = first.type->list.size(at(owner, first.offset));
  for (const StoredTable::Place& place : table.places) {
    if (place.type->list.size(at(owner, place.offset)) == size) continue;
    status_ = engine::Error{engine::ErrorCode::InvalidArgument,
                            fmt::format("table {}: {} and {} differ in length", table.name,
                                        first.member, place.member)};
  }
  const void* entries = data_of(*first.type, at(owner, first.offset));
  for (std::size_t entry = 0; entry < size && status_.ok(); ++entry) {
    const void* value = at(entries, entry * first.type->element->size);
    if (table.sparse && is_zero(*first.type->element, value)) continue;
    keys_.emplace_back(static_cast<std::int64_t>(entry));
    if (table.record != nullptr) {
      write_row(table, keys_.back(), owner, value);
    } else {
      write_entry(table, owner, entry);
    }
    keys_.pop_back();
  }
}

/// A row whose columns are entries of lists.
void RecordWriter::write_entry(const StoredTable& table, const void* owner, std::size_t entry) {
  if (statement_of(table) == nullptr) return;
  bind_keys(table);
  for (const StoredColumn& column : table.columns) {
    const StoredTable::Place& place = table.places[column.list];
    bind(table, column,
         at(data_of(*place.type, at(owner, place.offset)), entry * place.type->element->size));
  }
  write_derived(table, owner, static_cast<std::int64_t>(entry));
  finish(table);
}

void RecordWriter::write_derived(const StoredTable& table, const void* owner,
                                 std::int64_t position) {
  Statement& row = statements_[table.number];
  for (const DerivedColumn& column : table.derived) {
    const double value = column.value(at(owner, table.derived_from), position);
    if (column.integer) {
      row.integer(static_cast<std::int64_t>(value));
    } else {
      row.real(value);
    }
  }
}

void RecordWriter::bind_keys(const StoredTable& table) {
  Statement& row = statements_[table.number];
  const std::size_t count = table.bulk ? 1 : keys_.size();  // found by order: without its own
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto* number = std::get_if<std::int64_t>(&keys_[i])) {
      row.integer(*number);
    } else {
      row.text(std::get<std::string_view>(keys_[i]));
    }
  }
}

void RecordWriter::bind(const StoredTable& table, const StoredColumn& column, const void* value) {
  Statement& row = statements_[table.number];
  switch (column.form) {
    case Form::Value:
    case Form::ExactText:
    case Form::Number:
      return bind_value(table, column, value);
    case Form::Packed: {
      const std::size_t bytes = column.type->list.size(value) * column.type->element->size;
      const auto* first = static_cast<const std::byte*>(data_of(*column.type, value));
      row.blob(compress_bytes({first, bytes}));
      return;
    }
    case Form::Document:
      row.text(engine::to_json_text(*static_cast<const engine::RunRequest*>(value)));
      return;
    case Form::Size:
    case Form::BulkSize:
      row.integer(static_cast<std::int64_t>(column.type->list.size(value)));
      return;
  }
}

void RecordWriter::bind_value(const StoredTable& table, const StoredColumn& column,
                              const void* value) {
  Statement& row = statements_[table.number];
  const Type& type = *column.type;
  switch (type.kind) {
    case Kind::Real:
      row.real(engine::real_number(type, value));
      return;
    case Kind::Text: {
      const auto& text = *static_cast<const std::string*>(value);
      if (text.size() > kMaxTextCellBytes) {
        refuse(table, column,
               fmt::format("has {} bytes; the limit is {}", text.size(), kMaxTextCellBytes));
      } else if (!engine::is_clean_text(text)) {
        refuse(table, column, "is not valid UTF-8 text without NUL");
      }
      row.text(text);
      return;
    }
    case Kind::Enum: {
      const std::int64_t number = engine::signed_number(type, value);
      const auto known = std::ranges::find(type.names, number, &engine::EnumName::value);
      if (known == type.names.end()) {
        refuse(table, column, fmt::format("is {}, which has no name", number));
      } else if (column.form == Form::Number) {
        row.integer(number);
      } else {
        row.text(known->name);
      }
      return;
    }
    default:
      row.integer(type.kind == Kind::Unsigned
                      ? static_cast<std::int64_t>(engine::unsigned_number(type, value))
                      : engine::signed_number(type, value));
  }
}

Statement* RecordWriter::statement_of(const StoredTable& table) {
  Statement& statement = statements_[table.number];
  if (!status_.ok()) return nullptr;
  if (statement.get() != nullptr) return &statement;
  std::string names;
  std::string places;
  const auto add = [&](std::string_view name) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
    places += places.empty() ? "?" : ", ?";
  };
  for (const StoredTable* level : table.chain()) {
    const bool own_of_bulk = table.bulk && level == &table;
    if (!level->key.empty() && !own_of_bulk) add(level->key);
  }
  for (const StoredColumn& column : table.columns) add(column.name);
  for (const DerivedColumn& column : table.derived) add(column.name);
  auto prepared = Statement::prepare(
      to_.database, to_.path,
      fmt::format("INSERT INTO \"{}\"({}) VALUES({})", table.name, names, places));
  if (!prepared.ok()) {
    status_ = prepared.error();
    return nullptr;
  }
  statement = std::move(prepared).value();
  return &statement;
}

void RecordWriter::finish(const StoredTable& table) {
  if (status_.ok()) status_ = statements_[table.number].execute();
}

void RecordWriter::refuse(const StoredTable& table, const StoredColumn& column,
                          std::string_view why) {
  if (!status_.ok()) return;
  status_ = engine::Error{engine::ErrorCode::InvalidArgument,
                          fmt::format("table {}: {} {}", table.name, column.name, why)};
}

}  // namespace profiling
