"""A tiny random SmolVLM folder as Hugging Face writes them, with a byte tokenizer; needs transformers and torch."""
import torch
import transformers

from vision_folder import IMAGE, SPECIAL, VOCABULARY, write_processing

__all__ = ["ROWS", "SPECIAL", "TILE", "VOCABULARY", "make_vision_model"]

TILE, ROWS = 32, 4  # pixels of a tile, tokens of one


def make_vision_model(folder, split=True, dtype=torch.float32, tower=None):
    torch.manual_seed(5)
    config = transformers.Idefics3Config(
        text_config=dict(model_type="llama", vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=1024, rms_norm_eps=1e-5, initializer_range=0.15,
                         bos_token_id=None, eos_token_id=None, pad_token_id=None),
        vision_config=dict(hidden_size=40, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, image_size=TILE, patch_size=8,
                           hidden_act="gelu_pytorch_tanh", initializer_range=0.15, **(tower or {})),
        scale_factor=2, image_token_id=IMAGE, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = transformers.Idefics3ForConditionalGeneration(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif "patch_embedding" in name or "position_embedding" in name or "connector" in name:
                parameter.copy_(0.15 * torch.randn_like(parameter))
    model.to(dtype).save_pretrained(folder)
    return IMAGE, write_processing(folder, TILE, 2 * TILE, split)
