#include "profiling/session/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "engine/model/run_request.h"

namespace profiling {
namespace {

using engine::Field;
using engine::Kind;
using engine::Type;
using How = MemberLayout::How;

constexpr std::size_t kDefaultMaxEntries = std::size_t{1} << 20;  // entries of a list

std::size_t limit_of(const engine::FieldRules& rules) {
  const bool said = rules.most != engine::FieldRules{}.most;
  return said ? rules.most : kDefaultMaxEntries;
}

bool is_packed(const Type& element) {
  return (element.kind == Kind::Real && element.size == sizeof(float)) ||
         (element.kind == Kind::Unsigned && element.size == 1);
}

class Builder {
 public:
  Builder(const Type& type, const RecordedKind& kind) {
    StoredTable& root = add({.name = std::string(kind.table),
                             .rows = StoredTable::Rows::Recorded,
                             .key = fmt::format("{}_id", kind.name),
                             .prefix = kind.prefix,
                             .record = &type});
    add_members(root, type, 0, "");
  }
  Layout take() { return std::move(layout_); }

 private:
  StoredTable& add(StoredTable table) {
    table.number = layout_.tables.size();
    return *layout_.tables.emplace_back(std::make_unique<StoredTable>(std::move(table)));
  }

  const MemberLayout& layout_of(const Type& record, const Field& field) const {
    static constexpr MemberLayout kUsual{.type = nullptr, .member = {}};
    const std::span<const MemberLayout> members = member_layouts();
    const auto found = std::ranges::find_if(members, [&](const MemberLayout& member) {
      return member.type == &record && member.member == field.name;
    });
    return found == members.end() ? kUsual : *found;
  }

  std::string name_of(const StoredTable& owner, const MemberLayout& layout,
                      const std::string& member) const {
    return layout.table.empty() ? fmt::format("{}_{}", owner.name, member)
                                : fmt::format("{}{}", owner.prefix, layout.table);
  }

  static std::string former_name_of(const StoredTable& owner, const Field& field,
                                    const std::string& prefix) {
    if (field.rules.formerly.empty()) return {};
    return fmt::format("{}_{}{}", owner.name, prefix, field.rules.formerly);
  }

  /// For the entries of a list: "position", unless an owning table has that key already.
  static std::string free_key(const StoredTable& owner, std::string_view member) {
    const auto taken = [](const StoredTable* level) { return level->key == "position"; };
    return std::ranges::any_of(owner.chain(), taken) ? fmt::format("{}_position", member)
                                                     : "position";
  }

  /// The owner's table of this name, if another member has created it, else a new one.
  std::pair<StoredTable&, bool> part_of(const StoredTable& owner, StoredTable::Rows rows,
                                        std::string name, std::string_view key) {
    for (const auto& table : layout_.tables) {
      if (table->owner == &owner && table->name == name) return {*table, false};
    }
    return {add({.name = std::move(name),
                 .rows = rows,
                 .key = std::string(key),
                 .prefix = owner.prefix,
                 .owner = &owner}),
            true};
  }

  void add_members(StoredTable& table, const Type& record, std::size_t offset,
                   const std::string& prefix) {
    const auto* defaults = static_cast<const char*>(record.defaults());
    for (const Field& field : record.fields) {
      const auto at =
          static_cast<std::size_t>(static_cast<const char*>(field.in(defaults)) - defaults);
      add_member(table, record, field, offset, offset + at, prefix);
    }
  }

  /// `declared` is where the record that declares the field is in the table's record.
  void add_member(StoredTable& table, const Type& record, const Field& field, std::size_t declared,
                  std::size_t offset, const std::string& prefix) {
    const MemberLayout& layout = layout_of(record, field);
    const Type& type = *field.type;
    const std::string member = prefix + std::string(field.name);
    if (layout.how == How::Apart) return;
    switch (type.kind) {
      case Kind::Record:
        return add_record(table, field, layout, offset, prefix);
      case Kind::List:
        return add_list(table, field, layout, declared, offset, prefix);
      case Kind::Choice:
        for (std::size_t i = 0; i < type.choice.types.size(); ++i) {
          if (type.choice.types[i] == nullptr) continue;
          add_alternative(
              table, *type.choice.types[i], i,
              fmt::format("{}_{}", name_of(table, layout, member), type.choice.names[i]),
              {.member = field.name, .offset = offset, .type = &type});
        }
        return;
      case Kind::Optional:
        add_alternative(table, *type.element, 0, name_of(table, layout, member),
                        {.member = field.name, .offset = offset, .type = &type},
                        former_name_of(table, field, prefix));
        return;
      default:
        add_column(table, field, layout, prefix,
                   {.form = layout.how == How::Exact                ? StoredColumn::Form::ExactText
                            : table.bulk && type.kind == Kind::Enum ? StoredColumn::Form::Number
                                                                    : StoredColumn::Form::Value,
                    .type = &type,
                    .rules = field.rules,
                    .offset = offset});
    }
  }

  static void add_column(StoredTable& table, const Field& field, const MemberLayout& layout,
                         const std::string& prefix, StoredColumn column) {
    column.name =
        layout.column.empty() ? prefix + std::string(field.name) : std::string(layout.column);
    table.columns.push_back(std::move(column));
  }

  void add_record(StoredTable& table, const Field& field, const MemberLayout& layout,
                  std::size_t offset, const std::string& prefix) {
    if (field.type == &engine::kType<engine::RunRequest>) {
      add_column(table, field, layout, prefix,
                 {.form = StoredColumn::Form::Document, .type = field.type, .offset = offset});
      if (layout.column.empty()) table.columns.back().name += "_json";
      return;
    }
    if (layout.how != How::Rows) {
      const bool flat = layout.how == How::Flat;
      return add_members(table, *field.type, offset,
                         flat ? prefix : prefix + std::string(field.name) + "_");
    }
    const auto [rows, fresh] =
        part_of(table, StoredTable::Rows::Members,
                name_of(table, layout, prefix + std::string(field.name)), layout.key);
    rows.places.push_back({.member = field.name, .offset = offset, .type = field.type});
    if (!fresh) return;
    rows.record = field.type;
    add_members(rows, *field.type, 0, "");
  }

  void add_alternative(StoredTable& table, const Type& type, std::size_t alternative,
                       std::string name, const StoredTable::Place& place,
                       std::string former_name = {}) {
    StoredTable& rows = part_of(table, StoredTable::Rows::Alternative, std::move(name), "").first;
    rows.former_name = std::move(former_name);
    rows.record = &type;
    rows.alternative = alternative;
    rows.places.push_back(place);
    add_members(rows, type, 0, "");
  }

  void add_list(StoredTable& table, const Field& field, const MemberLayout& layout,
                std::size_t declared, std::size_t offset, const std::string& prefix) {
    const Type& element = *field.type->element;
    if (layout.how == How::Packed || (layout.table.empty() && is_packed(element))) {
      return add_column(table, field, layout, prefix,
                        {.form = StoredColumn::Form::Packed,
                         .type = field.type,
                         .rules = {.most = limit_of(field.rules)},
                         .offset = offset});
    }
    StoredTable& rows =
        part_of(table, StoredTable::Rows::Entries,
                name_of(table, layout, prefix + std::string(field.name)),
                layout.key.empty() ? free_key(table, field.name) : std::string(layout.key))
            .first;
    rows.places.push_back({.member = field.name, .offset = offset, .type = field.type});
    rows.most = limit_of(field.rules);
    if (!layout.prefix.empty()) rows.prefix = layout.prefix;
    rows.bulk = layout.how == How::Bulk;
    rows.sparse = layout.how == How::Sparse;
    rows.derived.assign(layout.derived.begin(), layout.derived.end());
    rows.derived_from = declared;
    if (rows.bulk || rows.sparse) {
      table.columns.push_back(
          {.name = prefix + std::string(field.name) + "_size",
           .form = rows.bulk ? StoredColumn::Form::BulkSize : StoredColumn::Form::Size,
           .type = field.type,
           .rules = {.low = 0, .high = static_cast<double>(rows.most)},
           .offset = offset});
    }
    if (element.kind == Kind::Record) {
      rows.record = &element;
      return add_members(rows, element, 0, "");
    }
    engine::FieldRules rules = field.rules;
    rules.most = {};
    add_column(rows, field, layout, "",
               {.type = &element, .rules = rules, .list = rows.places.size() - 1});
  }

  Layout layout_;
};

std::string column_definition(const StoredColumn& column) {
  using Form = StoredColumn::Form;
  const engine::FieldRules any;
  switch (column.form) {
    case Form::Packed:
      return fmt::format("\"{}\" BLOB NOT NULL", column.name);
    case Form::Document:
    case Form::ExactText:
      return fmt::format("\"{}\" TEXT NOT NULL", column.name);
    case Form::Number:
    case Form::Size:
    case Form::BulkSize:
      return fmt::format("\"{}\" INTEGER NOT NULL", column.name);
    case Form::Value:
      break;
  }
  switch (column.type->kind) {
    case Kind::Real: {
      const bool limited = column.rules.low != any.low || column.rules.high != any.high;
      return fmt::format("\"{}\" REAL{}", column.name, limited ? " NOT NULL" : "");
    }
    case Kind::Enum:
    case Kind::Text:
      return fmt::format("\"{}\" TEXT NOT NULL", column.name);
    default:
      return fmt::format("\"{}\" INTEGER NOT NULL", column.name);
  }
}

}  // namespace

std::vector<const StoredTable*> StoredTable::chain() const {
  std::vector<const StoredTable*> tables;
  for (const StoredTable* table = this; table != nullptr; table = table->owner)
    tables.push_back(table);
  std::ranges::reverse(tables);
  return tables;
}

std::vector<const StoredTable*> Layout::parts_of(const StoredTable& owner) const {
  std::vector<const StoredTable*> parts;
  for (const auto& table : tables) {
    if (table->owner == &owner) parts.push_back(table.get());
  }
  return parts;
}

Layout make_layout(const Type& type, const RecordedKind& kind) {
  return Builder(type, kind).take();
}

std::string definition_of(const StoredTable& table) {
  std::vector<std::string> lines;
  std::vector<std::string> keys;
  const bool has_rowid = table.owner == nullptr || table.bulk;
  if (table.bulk) lines.emplace_back("\"record_id\" INTEGER PRIMARY KEY");
  for (const StoredTable* level : table.chain()) {
    if (level->key.empty() || (level == &table && table.bulk)) continue;
    const bool is_text = level->rows == StoredTable::Rows::Members;
    const char* type = table.owner == nullptr ? "INTEGER PRIMARY KEY"
                       : is_text              ? "TEXT NOT NULL"
                                              : "INTEGER NOT NULL";
    lines.push_back(fmt::format("\"{}\" {}", level->key, type));
    keys.push_back(fmt::format("\"{}\"", level->key));
  }
  for (const StoredColumn& column : table.columns) lines.push_back(column_definition(column));
  for (const DerivedColumn& column : table.derived) {
    lines.push_back(
        fmt::format("\"{}\" {} NOT NULL", column.name, column.integer ? "INTEGER" : "REAL"));
  }
  if (!has_rowid) lines.push_back(fmt::format("PRIMARY KEY({})", fmt::join(keys, ", ")));
  return fmt::format("CREATE TABLE \"{}\"(\n  {}\n) STRICT{}", table.name,
                     fmt::join(lines, ",\n  "), has_rowid ? "" : ", WITHOUT ROWID");
}

}  // namespace profiling
