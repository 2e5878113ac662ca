"""Renders conversations with transformers' apply_chat_template.

chat_oracle.py FOLDER trains a small tokenizer, writes one model folder for each known chat template with tokenizer.json and
tokenizer_config.json, FOLDER/chats.jsonl, and FOLDER/NAME.ids with the ids of each conversation. Templates of other people's collections, `trl`
if it is installed and the files *.jinja in the folder PLIMSOLL_CHAT_TEMPLATES, go into FOLDER/others in the same way, with nothing in
place of ids where the template refuses a conversation.
"""
import importlib.util
import json
import os
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SOURCE = Path(__file__).resolve().parents[2]
SPECIAL = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
SMOLLM2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful AI "
           "assistant named SmolLM, trained by Hugging Face<|im_end|>\\n' }}{% endif %}" + CHATML.partition("%}")[2])
QWEN2 = ("{%- if tools %}{{- '<|im_start|>system\\n' }}{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}"
         "{{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}{%- endif %}{{- '<|im_end|>\\n' }}{%- else %}"
         "{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}{%- else %}"
         "{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}{%- endif %}{%- endif %}"
         "{%- for message in messages %}{%- if (message.role == 'user') or (message.role == 'system' and not loop.first) or (message.role == "
         "'assistant' and not message.tool_calls) %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
         "{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")
LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
          "'<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
          "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
LLAMA31 = ("{{- bos_token }}{%- if not date_string is defined %}{%- set date_string = '26 Jul 2024' %}{%- endif %}"
           "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}"
           "{%- else %}{%- set system_message = '' %}{%- endif %}{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}"
           "{{- 'Cutting Knowledge Date: December 2023\\n' }}{{- 'Today Date: ' + date_string + '\\n\\n' }}{{- system_message }}{{- '<|eot_id|>' }}"
           "{%- for message in messages %}{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + "
           "'<|eot_id|>' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}")
# As Qwen3's does: thoughts stay in the last answer only, which always has a place for them.
QWEN3 = ("{%- set ns = namespace(open=true, last_query_index=messages|length - 1) %}{%- for message in messages[::-1] %}"
         "{%- if ns.open and message.role == 'user' and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}{%- set ns.open = false %}{%- set ns.last_query_index = messages|length - loop.index %}{%- endif %}"
         "{%- endfor %}{%- for message in messages %}{%- set content = message.content %}{%- set reasoning_content = '' %}"
         "{%- if message.role == 'assistant' and '</think>' in message.content %}{%- set content = message.content.split('</think>')[-1].lstrip('\n') %}"
         "{%- set reasoning_content = message.content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}{%- endif %}"
         "{{- '<|im_start|>' + message.role + '\n' }}{%- if message.role == 'assistant' and loop.index0 > ns.last_query_index and "
         "(loop.last or (not loop.last and reasoning_content)) %}{{- '<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + "
         "content.lstrip('\n') }}{%- else %}{{- content }}{%- endif %}{{- '<|im_end|>\n' }}{%- endfor %}"
         "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}")
# Templates whose text stands between the statements, that begin with the token that begins a text, or omit an empty system message.
QWEN2_VL = ("{% for message in messages %}{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
            "{% endif %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
HERMES = "{{bos_token}}" + CHATML
LFM2 = ("{{- bos_token -}}{%- set ns = namespace(system_prompt='') -%}{%- if messages[0]['role'] == 'system' -%}"
        "{%- set ns.system_prompt = messages[0]['content'] -%}{%- set messages = messages[1:] -%}{%- endif -%}"
        "{%- if ns.system_prompt -%}{{- '<|im_start|>system\\n' + ns.system_prompt + '<|im_end|>\\n' -}}{%- endif -%}" + CHATML)
# Formats that we do not know: the template writes them itself. That of TinyLlama, and one that begins with a token and folds the system message into a question.
ZEPHYR = ("{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + eos_token + '\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}")
FOLDED = ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] + '\\n\\n' %}{% set messages = messages[1:] %}"
          "{% else %}{% set system = '' %}{% endif %}{% for m in messages %}{% if m['role'] == 'user' %}{{ '[INST] ' + (system if loop.first else '') + "
          "m['content'].strip() + ' [/INST]' }}{% else %}{{ ' ' + m['content'].strip() + eos_token }}{% endif %}{% endfor %}")
# One that leaves out thoughts, as that of DeepSeek's distilled models, and ends the conversation with a token, as that of Phi-3.
THOUGHTLESS = ("{{ bos_token }}{% for m in messages %}{{ '<|im_start|>' + m['role'] + m['content'].split('</think>')[-1] + '<|im_end|>\\n' }}{% endfor %}"
               "{{ '<|im_start|>assistant<think>\\n' if add_generation_prompt else eos_token }}")
TEMPLATES = {"thoughtless": THOUGHTLESS, "zephyr": ZEPHYR, "folded": FOLDED, "qwen2-vl": QWEN2_VL, "hermes": HERMES, "lfm2": LFM2, "qwen3": QWEN3, "chatml": CHATML, "smollm2": SMOLLM2, "qwen2": QWEN2, "llama3": LLAMA3, "llama31": LLAMA31}
CHATS = [
    [("user", "Hello"), ("assistant", "Hi there.")],
    [("system", "Be short."), ("user", "What is a line?"), ("assistant", "A mark."), ("user", "Where?"), ("assistant", "On the hull.")],
    [("user", "  spaces around \n"), ("assistant", "\n\n  answers too  \n")],
    [("user", "<|im_end|> in text"), ("assistant", "")],
    [("system", ""), ("user", "\u00e9\U0001f600"), ("assistant", "{\"a\": null}")],
    [("user", "no answer yet")],
    [("user", "a"), ("assistant", "<think>\nhm\n\n</think>\n\nb"), ("user", "c"), ("assistant", "\n\nd"), ("assistant", "<think>so</think>e")],
    [("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nb"), ("user", "<tool_response>\n1\n</tool_response>"), ("assistant", "<think>so</think>c")],
    [("assistant", "first"), ("assistant", "x</think>y</think>\nz")],
]


def others():
    """Files of templates that were written elsewhere."""
    trl = importlib.util.find_spec("trl")
    folders = [Path(trl.submodule_search_locations[0]) / "chat_templates"] if trl else []
    folders += [Path(os.environ["PLIMSOLL_CHAT_TEMPLATES"])] if "PLIMSOLL_CHAT_TEMPLATES" in os.environ else []
    return {file.stem: file.read_text() for folder in folders for file in sorted(folder.glob("*.jinja"))}


def write(folder, base, templates, chats, lenient):
    for name, template in templates.items():
        (folder / name).mkdir(parents=True)
        base.save(str(folder / name / "tokenizer.json"))
        (folder / name / "tokenizer_config.json").write_text(json.dumps(
            {"bos_token": "<|begin_of_text|>", "eos_token": "<|endoftext|>", "chat_template": template}))
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, bos_token="<|begin_of_text|>", eos_token="<|endoftext|>", chat_template=template)

        def ids(chat, more):
            try:
                return list(tokenizer.apply_chat_template(chat, add_generation_prompt=more, return_dict=False, date_string="26 Jul 2024"))
            except Exception:  # whatever a template raises
                if not lenient:
                    raise
                return None
        (folder / f"{name}.ids").write_text(json.dumps([[ids(chat, more) for more in (False, True)] for chat in chats]))


def main():
    folder = Path(sys.argv[1])
    base = Tokenizer(models.BPE())
    base.pre_tokenizer, base.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    base.train_from_iterator([path.read_text() for path in sorted(SOURCE.glob("docs/*.md"))],
                             trainers.BpeTrainer(vocab_size=1000, special_tokens=SPECIAL, show_progress=False,
                                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    chats = [[{"role": role, "content": content} for role, content in chat] for chat in CHATS]
    (folder / "chats.jsonl").write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    write(folder, base, TEMPLATES, chats, lenient=False)
    write(folder / "others", base, others(), chats, lenient=True)


if __name__ == "__main__":
    main()
