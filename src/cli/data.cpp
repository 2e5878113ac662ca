// `plimsoll data`: what a data set for fine-tuning would give before anything is trained on it (`check`), and what a model
// would see of pictures (`pictures`); also draws a set of pictures with questions (`shapes`).
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "data/byte_text.hpp"
#include "data/dataset.hpp"
#include "data/packed_corpus.hpp"
#include "data/shapes.hpp"
#include "image/picture_file.hpp"
#include "platform/mapped_file.hpp"
#include "pretrained/pretrained.hpp"
#include "train/model_spec.hpp"

namespace plimsoll::cli::data_command {
namespace {

struct Text {
  std::string action, file, model, vision, chat = "auto", selective, keys, out, images, buffer = "16MB";
  int context = 512;
  uint64_t rows = 4096, seed = 1;
  bool as_json = false;
};

// A line for a figure that is not 0.
void print_line(const char* name, uint64_t figure, const std::string& meaning) {
  if (figure) fmt::print("{:12} {} {}\n", name, format_count(figure), meaning);
}

const char* plural(int64_t count) { return count == 1 ? "" : "s"; }
const char* rows(uint64_t count) { return count == 1 ? "row" : "rows"; }

void print_report(const DatasetFigures& figures, const Text& text, const ModelText& model, uint64_t windows) {
  const bool chats = figures.schema == Schema::messages || figures.schema == Schema::instruction;
  fmt::print("{:12} {}{}\n", "schema", figures.schema ? schema_name(*figures.schema) : "none",
             chats ? fmt::format(", template {}", chat_format_name(model.chat.format())) : "");
  fmt::print("{:12} {}\n", "rows", format_count(figures.rows));
  fmt::print("{:12} {}, {} learned\n", "tokens", format_count(figures.tokens), format_count(figures.targets));
  print_line("structure", figures.structural, "of the learned tokens left out by selective loss");
  fmt::print("{:12} {} tokens, line {}\n", "longest", format_count(figures.longest), figures.longest_line);
  fmt::print("{:12} {} of {} tokens\n", "windows", format_count(windows),
             format_count(uint64_t(text.context)));
  print_line(
      "cut off", figures.cut_tokens,
      fmt::format("tokens of {} {} longer than the context", format_count(figures.cut), rows(figures.cut)));
  print_line("empty", figures.empty, fmt::format("{} without text, left out", rows(figures.empty)));
  print_line("masked", figures.masked,
             fmt::format("{} with nothing to learn, left out", rows(figures.masked)));
  print_line(
      "shortened", figures.shortened,
      fmt::format("{} of which the chat template leaves out a part of an answer", rows(figures.shortened)));
  print_line("duplicates", figures.duplicates,
             fmt::format("{} with the tokens and pictures of an earlier one", rows(figures.duplicates)));
  if (figures.endless)
    fmt::print("{:12} none: the model names no token that ends a text (eos_token)\n", "end");
  print_line("malformed", figures.bad,
             fmt::format("{}; the first is {}", rows(figures.bad), figures.first_bad));
}

// Every picture is decoded; with a model the tiles it would see are counted and, with --out, written.
void look_at_pictures(const Text& text) {
  const bool cut = !text.model.empty();
  if (!text.out.empty() && !cut) fail_input("--out needs --model, whose processor cuts the tiles");
  const TileSettings settings = cut ? read_tile_settings(text.model) : TileSettings{};
  nlohmann::ordered_json pictures = nlohmann::ordered_json::array();
  if (std::error_code ignored; !std::filesystem::exists(text.file, ignored))
    fail_input("{}: there is no such file; give a picture, or a folder of pictures", text.file);
  const auto paths = find_pictures(text.file);
  if (paths.empty()) fail_input("{}: there is no picture in it", text.file);
  for (const auto& path : paths) {
    const PictureFile found = look_at_picture(path, true);
    const PictureHeader& h = found.header;
    nlohmann::ordered_json row = {{"file", path.string()}};
    if (!found.problem.empty()) {
      exit_code = int(Exit::usage);
      row["problem"] = found.problem;
      if (!text.as_json) fmt::print("{}: {}\n", path.string(), found.problem);
    } else {
      row["format"] = name_of(h.format), row["width"] = h.width, row["height"] = h.height;
      row["memory"] = h.memory();
      std::string tiles;
      if (cut) {
        const TileGrid grid = tile_grid(settings, {h.width, h.height});
        row["rows"] = grid.rows, row["columns"] = grid.columns, row["tiles"] = grid.tiles();
        tiles = fmt::format(", {} tile{} of {} x {}", grid.tiles(), plural(grid.tiles()), settings.tile,
                            settings.tile);
        if (!text.out.empty())
          write_tiles(load_tiles(path, settings), settings.tile, text.out, path.filename().string());
      }
      if (!text.as_json)
        fmt::print("{}: {} of {} x {}, {} to decode{}\n", path.string(), name_of(h.format), h.width, h.height,
                   format_bytes(h.memory()), tiles);
    }
    pictures.push_back(row);
  }
  if (text.as_json)
    fmt::print("{}\n", nlohmann::ordered_json{{"pictures", pictures}}.dump(
                           -1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void make_shapes(const Text& text) {
  const ShapeSet set = write_shapes(text.file, text.rows, text.seed);
  if (text.as_json)
    fmt::print("{}\n",
               nlohmann::ordered_json{{"rows", set.rows}, {"held_out", set.held_out}, {"chance", set.chance}}
                   .dump());
  else
    fmt::print(
        "{}: {} rows in train.jsonl, {} in held-out.jsonl; {:.1f} % of those can be answered without "
        "looking\n",
        text.file, format_count(set.rows), format_count(set.held_out), 100 * set.chance);
}

void run(const Text& text) {
  if (text.action == "pictures") return look_at_pictures(text);
  if (text.action == "shapes") return make_shapes(text);
  if (text.model.empty() == text.vision.empty())
    fail_input("give either --model, a model folder or a tokenizer.json, or --vision tiny");
  const bool own = !text.vision.empty();
  const ModelText model = own ? byte_model_text() : load_model_text(text.model, text.chat);
  DatasetOptions options{.context = text.context,
                         .skip_bad = true,
                         .selective = {parse_structure(text.selective), split_names(text.keys)}};
  std::optional<PictureTokens> pictures_of;
  if (own)
    pictures_of = picture_tokens(vision_defaults(text.vision));
  else if (looks_at_pictures(text.model))
    pictures_of = read_config(text.model).pictures;
  if (pictures_of)
    options.pictures = PictureOptions{*pictures_of,
                                      text.images.empty() ? std::filesystem::path(text.file).parent_path()
                                                          : std::filesystem::path(text.images),
                                      parse_bytes(text.buffer, "--image-buffer")};
  {
    const MappedFile file(text.file);
    refuse_misnamed_rows(text.file,
                         {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  }
  const Dataset data(text.file, model, options);
  const DatasetFigures& figures = data.figures();
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < data.samples(); ++i) lengths.push_back(uint32_t(data.length(i) - 1));
  const uint64_t windows = pack(lengths, uint32_t(text.context)).windows();
  if (figures.bad || data.samples() < least_samples) exit_code = int(Exit::usage);
  const Pictures* pictures = data.pictures();
  if (!text.as_json) {
    print_report(figures, text, model, windows);
    if (data.samples() < least_samples)
      fmt::print("{:12} {} of them can be learned from; training needs at least {}\n", "too few",
                 data.samples(), least_samples);
    if (pictures && pictures->size())
      fmt::print("{:12} {}, {} tile{}\n", "pictures", format_count(pictures->size()),
                 format_count(pictures->tiles()), plural(int64_t(pictures->tiles())));
    return;
  }
  nlohmann::ordered_json out = {
      {"schema", figures.schema ? nlohmann::ordered_json(schema_name(*figures.schema)) : nullptr},
      {"template", chat_format_name(model.chat.format())},
      {"context", text.context},
      {"rows", figures.rows},
      {"samples", data.samples()},
      {"tokens", figures.tokens},
      {"targets", figures.targets},
      {"structural", figures.structural},
      {"longest", figures.longest},
      {"longest_line", figures.longest_line},
      {"windows", windows},
      {"cut_rows", figures.cut},
      {"cut_tokens", figures.cut_tokens},
      {"empty_rows", figures.empty},
      {"masked_rows", figures.masked},
      {"shortened_rows", figures.shortened},
      {"duplicate_rows", figures.duplicates},
      {"ends_texts", !figures.endless},
      {"bad_rows", figures.bad},
      {"first_bad", figures.bad ? nlohmann::ordered_json(figures.first_bad) : nullptr}};
  if (pictures) out["pictures"] = pictures->size(), out["tiles"] = pictures->tiles();
  fmt::print("{}\n", out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

Command command(
    38, "data", "check a data set for fine-tuning, look at pictures, or draw some",
    "plimsoll data check chat.jsonl --model SmolLM2-135M --context 1024\n  plimsoll data shapes shapes/ "
    "--rows 8192",
    [](Options& options) {
      auto text = std::make_shared<Text>();
      options.value("action", text->action, "check, pictures or shapes")
          .one_of({"check", "pictures", "shapes"})
          .needed();
      options
          .value("file", text->file,
                 "rows as JSON lines; a picture, or a folder of pictures; the folder to write shapes into")
          .needed();
      options.value("--model", text->model, "model folder or tokenizer.json").wants("DIR");
      options.value("--vision", text->vision, "as train --vision would read the rows").wants("tiny");
      options.value("--context", text->context, "tokens of a window; longer samples are cut").wants("N");
      options
          .value("--chat-template", text->chat,
                 "how conversations become text; auto: the model's own template, plain if it has none")
          .one_of({"auto", "chatml", "llama3", "plain"});
      options
          .value("--selective-loss", text->selective,
                 "count the tokens that only write the structure of JSON")
          .one_of({"off", "conservative", "moderate", "aggressive"});
      options
          .value("--selective-keys", text->keys, "keys that are structure, separated by commas; default: all")
          .wants("NAMES");
      options
          .value("--images", text->images, "folder of the pictures that rows name; default: that of the file")
          .wants("FOLDER");
      options
          .value("--image-buffer", text->buffer,
                 "memory in which a picture is decoded and cut; larger ones are malformed (default 16MB)")
          .wants("SIZE");
      options.value("--out", text->out, "pictures: write the tiles the model would see into this folder")
          .wants("FOLDER");
      options.value("--rows", text->rows, "shapes: rows to learn from (default 4096)").wants("N");
      options.value("--seed", text->seed, "shapes: random seed (default 1)").wants("N");
      options.flag("--json", text->as_json, "print one JSON object");
      options.run([text] { run(*text); });
    });

}  // namespace
}  // namespace plimsoll::cli::data_command
