"""A tiny random SmolVLM folder as Hugging Face writes them, with a byte tokenizer; needs transformers and torch."""
import json

import torch
import transformers

from test_tokenize import tokenizer

TEMPLATE = ("<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}{{':'}}"
            "{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}{% elif "
            "line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
            "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
TILE, ROWS = 32, 4  # pixels of a tile, tokens of one
SPECIAL = ["<|im_start|>", "<end_of_utterance>", "<image>", "<fake_token_around_image>", "<global-img>",
           *(f"<row_{r}_col_{c}>" for r in (1, 2) for c in (1, 2))]
VOCABULARY = 280


def make_vision_model(folder, split=True, dtype=torch.float32, tower=None):
    torch.manual_seed(5)
    made = tokenizer()
    first = 259
    made["added_tokens"] = [{"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, "id": 258 + i, "content": text}
                            for i, text in enumerate(["<|end|>", *SPECIAL])]
    made["pre_tokenizer"].update(trim_offsets=True, use_regex=True)
    made["decoder"].update(add_prefix_space=False, trim_offsets=True, use_regex=True)
    made.update(version="1.0", truncation=None, padding=None)
    image = first + SPECIAL.index("<image>")
    config = transformers.Idefics3Config(
        text_config=dict(model_type="llama", vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=1024, rms_norm_eps=1e-5, initializer_range=0.15,
                         bos_token_id=None, eos_token_id=None, pad_token_id=None),
        vision_config=dict(hidden_size=40, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, image_size=TILE, patch_size=8,
                           hidden_act="gelu_pytorch_tanh", initializer_range=0.15, **(tower or {})),
        scale_factor=2, image_token_id=image, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = transformers.Idefics3ForConditionalGeneration(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif "patch_embedding" in name or "position_embedding" in name or "connector" in name:
                parameter.copy_(0.15 * torch.randn_like(parameter))
    model.to(dtype).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(made))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE, "eos_token": "<end_of_utterance>"}))
    settings = {"do_image_splitting": split, "max_image_size": {"longest_edge": TILE}, "size": {"longest_edge": 2 * TILE}, "resample": 1,
                "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return image, settings
